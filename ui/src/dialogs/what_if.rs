//! A table of what-if questions and their answers. Nothing is staged until `Enter`.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Outlook, RateFactor, Refusal, WhatIf, WhatIfAnswer, WhatIfReply};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{StyledLine, wrapped};
use crate::text::{format, outlook};

/// The factors of the rate.
const FACTORS: [f64; 6] = [0.5, 1.5, 2.0, 3.0, 5.0, 10.0];
/// The first factor.
const TWICE: usize = 2;
/// The most answers kept while subjects change.
const MOST_KEPT: usize = 64;

/// An answer, or the reason for its absence.
type RowAnswer = Result<Box<WhatIfAnswer>, String>;

/// The table.
#[derive(Clone, Debug)]
pub struct WhatIfTable {
    rows: Vec<QuestionRow>,
    /// The number of the chosen row.
    at: usize,
    /// The hidden lines of the chosen answer.
    scroll: usize,
    answers: Vec<(WhatIf, RowAnswer)>,
    /// The questions that were asked.
    asked: Vec<WhatIf>,
}

/// A row: a kind of question and its subject.
#[derive(Clone, Copy, Debug)]
enum QuestionRow {
    Lose(DeviceIndex),
    AllIn(MemberPrecision),
    Rate(usize),
    OneMore(DeviceIndex),
    Without(MemberIndex),
}

impl WhatIfTable {
    /// Creates the table about the device and the member at the cursor.
    pub fn new(model: &Model) -> Self {
        let at = model.cursor;
        let precisions = ["int8", "bf16"].into_iter();
        let precisions = precisions
            .filter_map(|name| name.parse().ok())
            .map(QuestionRow::AllIn);
        let mut rows = vec![QuestionRow::Lose(at.device)];
        rows.extend(precisions);
        rows.extend([
            QuestionRow::Rate(TWICE),
            QuestionRow::OneMore(at.device),
            QuestionRow::Without(at.member),
        ]);
        WhatIfTable {
            rows,
            at: 0,
            scroll: 0,
            answers: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Changes the subject of the chosen row.
    fn turn(&mut self, step: isize, model: &Model) {
        let (devices, members) = (model.snapshot.devices.len(), model.snapshot.members.len());
        self.scroll = 0;
        if let Some(row) = self.rows.get_mut(self.at) {
            *row = row.turned(step, devices, members);
        }
    }

    fn choose(&mut self, step: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(step).min(last);
        self.scroll = 0;
    }

    fn answer(&self, row: QuestionRow) -> Option<&RowAnswer> {
        let question = row.question();
        let found = self.answers.iter().find(|(about, _)| *about == question);
        found.map(|(_, answer)| answer)
    }

    fn chosen(&self) -> Option<&RowAnswer> {
        self.answer(*self.rows.get(self.at)?)
    }

    /// Stages the setup of the chosen row.
    fn stage(&self, model: &mut Model) -> DialogReply {
        let stages = match self.chosen() {
            None => Err("the answer is still being computed"),
            Some(Err(_)) => Err("there is no answer to stage"),
            Some(Ok(answer)) => answer
                .stages
                .clone()
                .ok_or("this case has no setup to stage"),
        };
        match stages {
            Ok(setup) => DialogReply::StageSetup(setup),
            Err(why) => {
                model.say(why, true);
                DialogReply::Stay
            }
        }
    }
}

impl QuestionRow {
    fn question(self) -> WhatIf {
        match self {
            QuestionRow::Lose(device) => WhatIf::LoseDevice(device),
            QuestionRow::AllIn(precision) => WhatIf::AllIn(precision),
            QuestionRow::Rate(number) => {
                let factor = FACTORS.get(number).copied().unwrap_or(1.0);
                WhatIf::Rate(RateFactor::nearest(factor))
            }
            QuestionRow::OneMore(device) => WhatIf::OneMoreDevice(device),
            QuestionRow::Without(member) => WhatIf::WithoutMember(member),
        }
    }

    fn turned(self, step: isize, devices: usize, members: usize) -> Self {
        let next = |at: usize, count: usize| {
            (at as isize + step).rem_euclid(count.max(1) as isize) as usize
        };
        match self {
            QuestionRow::Lose(device) => {
                QuestionRow::Lose(DeviceIndex::new(next(device.get(), devices)))
            }
            QuestionRow::OneMore(device) => {
                QuestionRow::OneMore(DeviceIndex::new(next(device.get(), devices)))
            }
            QuestionRow::Without(member) => {
                QuestionRow::Without(MemberIndex::new(next(member.get(), members)))
            }
            QuestionRow::Rate(number) => QuestionRow::Rate(next(number, FACTORS.len())),
            QuestionRow::AllIn(precision) => {
                let all = precisions();
                let at = all.iter().position(|known| *known == precision);
                let turned = all.get(next(at.unwrap_or(0), all.len())).copied();
                QuestionRow::AllIn(turned.unwrap_or(precision))
            }
        }
    }

    /// Returns the row's name: `lose cpu:1`.
    fn name(self, model: &Model) -> String {
        let frame = model.snapshot.matrix.frame();
        let device = |device| frame.device(device).unwrap_or("?");
        match self {
            QuestionRow::Lose(at) => format!("lose {}", device(at)),
            QuestionRow::AllIn(precision) => format!("all in {}", precision.to_text()),
            QuestionRow::Rate(number) => {
                let factor = FACTORS.get(number).copied().unwrap_or(1.0);
                format!("rate {}", format::times(factor))
            }
            QuestionRow::OneMore(at) => format!("one more {}", device(at)),
            QuestionRow::Without(at) => format!("without {}", frame.member(at).unwrap_or("?")),
        }
    }
}

/// Returns the precisions that can be asked about.
fn precisions() -> Vec<MemberPrecision> {
    let names = MemberPrecision::names();
    names.filter_map(|name| name.parse().ok()).collect()
}

impl DialogBody for WhatIfTable {
    /// Arrows choose a row and its subject, `Enter` stages its setup.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return DialogReply::Close,
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Left | KeyCode::Char('h') => self.turn(-1, model),
            KeyCode::Right | KeyCode::Char('l') => self.turn(1, model),
            KeyCode::PageDown => self.scroll += 1,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Enter => return self.stage(model),
            _ => {}
        }
        DialogReply::Stay
    }

    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let width = painter.width().saturating_sub(2).min(110);
        let inner = width.saturating_sub(4);
        let detail = self.detail(inner);
        let rows = self.rows.len() as u16 + 2;
        let height = (rows + detail.len() as u16 + 4).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("what if", true);
        self.draw_rows(&mut inside, model);
        let room = usize::from(inside.height().saturating_sub(rows + 2));
        let most = detail.len().saturating_sub(room);
        let shown = detail.iter().skip(self.scroll.min(most)).take(room);
        for (y, line) in (rows + 1..).zip(shown) {
            inside.line(1, y, line);
        }
        self.draw_keys(&mut inside, most > 0);
    }

    fn is_of_frame(&self) -> bool {
        true
    }

    fn questions(&mut self, again: bool) -> Vec<WhatIf> {
        let rows = self.rows.iter().map(|row| row.question());
        let is_known = |about: &WhatIf| self.answers.iter().any(|(known, _)| known == about);
        let open: Vec<WhatIf> = rows.filter(|about| !is_known(about)).collect();
        let new = |about: &WhatIf| again || !self.asked.contains(about);
        let asked: Vec<WhatIf> = open.into_iter().filter(new).collect();
        self.asked.extend(asked.iter().cloned());
        let over = self.asked.len().saturating_sub(MOST_KEPT);
        self.asked.drain(..over);
        asked
    }

    fn answered(&mut self, about: &WhatIf, reply: &Result<WhatIfReply, Refusal>) {
        let is_asked = self.rows.iter().any(|row| row.question() == *about);
        let answer = match reply {
            Ok(WhatIfReply::Computing) => return,
            Ok(WhatIfReply::Answer(answer)) => Ok(answer.clone()),
            Err(why) => Err(why.to_string()),
        };
        if !is_asked {
            return;
        }
        self.answers.retain(|(known, _)| known != about);
        if self.answers.len() >= MOST_KEPT {
            self.answers.drain(..1);
        }
        self.answers.push((about.clone(), answer));
    }

    fn renew(&mut self) {
        self.answers.clear();
        self.asked.clear();
    }
}

impl WhatIfTable {
    fn draw_rows(&self, inside: &mut Painter<'_>, model: &Model) {
        let columns = WhatIfColumns::for_width(inside.width());
        columns.head(inside);
        columns.cells(inside, 1, ("now", Role::Strong), &self.now());
        for (y, (at, row)) in (2..).zip(self.rows.iter().enumerate()) {
            let chosen = at == self.at;
            if chosen {
                inside.text(0, y, "▸", Role::Accent);
            }
            let role = if chosen { Role::Strong } else { Role::Text };
            let cells = cells(self.answer(*row));
            columns.cells(inside, y, (&row.name(model), role), &cells);
            if chosen {
                inside.restyle(1, y, inside.width().saturating_sub(2), Role::Cursor);
            }
        }
    }

    /// Returns the cells of the running setup, from any answer.
    fn now(&self) -> RowCells {
        let mut answers = self
            .answers
            .iter()
            .filter_map(|(_, answer)| answer.as_ref().ok());
        let Some(answer) = answers.next_back() else {
            return computing();
        };
        let before = &answer.before;
        let texts = [
            outlook::throughput(before),
            outlook::p99(&before.p99),
            String::new(),
            outlook::cost(before),
        ];
        texts.map(|text| (text, Role::Text))
    }

    /// Returns the chosen answer in lines.
    fn detail(&self, width: u16) -> Vec<StyledLine> {
        match self.chosen() {
            None => wrapped("computing …", width, Role::Dim).collect(),
            Some(Err(why)) => wrapped(&format!("✗ {why}"), width, Role::Bad).collect(),
            Some(Ok(answer)) => {
                let lines = outlook::lines(answer).into_iter();
                lines.flat_map(|line| hanging(&line, width)).collect()
            }
        }
    }

    fn draw_keys(&self, inside: &mut Painter<'_>, scrolls: bool) {
        let y = inside.height().saturating_sub(1);
        let mut keys = vec![("Esc", "back"), ("↑ ↓", "row"), ("← →", "subject")];
        let stages = self.chosen().is_some_and(|answer| {
            let answer = answer.as_ref().ok();
            answer.is_some_and(|answer| answer.stages.is_some())
        });
        if stages {
            keys.insert(0, ("Enter", "stage"));
        }
        if scrolls {
            keys.push(("PgDn", "more"));
        }
        inside.keys(1, y, 2, &keys);
    }
}

/// Returns a text in lines, all but the first indented.
fn hanging(text: &str, width: u16) -> Vec<StyledLine> {
    let lines = format::wrap(text, width.saturating_sub(2)).into_iter();
    let indented = lines.enumerate().map(|(at, line)| match at {
        0 => vec![(line, Role::Text)],
        _ => vec![(format!("  {line}"), Role::Text)],
    });
    indented.collect()
}

/// The texts of a row: samples per second, p99, accuracy and cost.
type RowCells = [(String, Role); 4];

fn computing() -> RowCells {
    [("computing …"), "", "", ""].map(|text| (text.to_owned(), Role::Dim))
}

fn cells(answer: Option<&RowAnswer>) -> RowCells {
    let answer = match answer {
        None => return computing(),
        Some(Err(_)) => return [("✗"), "", "", ""].map(|text| (text.to_owned(), Role::Bad)),
        Some(Ok(answer)) => answer,
    };
    let Ok(after) = &answer.after else {
        return [("not served"), "", "", ""].map(|text| (text.to_owned(), Role::Bad));
    };
    let rate = |outlook: &Outlook| Some(outlook.throughput.as_ref().ok()?.samples_per_s);
    let role = match rate(&answer.before).zip(rate(after)) {
        Some((before, after)) if after < before * 0.995 => Role::Bad,
        Some((before, after)) if after > before * 1.005 => Role::Good,
        _ => Role::Text,
    };
    [
        (outlook::throughput(after), role),
        (outlook::p99(&after.p99), Role::Text),
        (outlook::accuracy(&answer.accuracy), Role::Text),
        (outlook::cost(after), Role::Text),
    ]
}

/// The columns of the table, by their right ends.
struct WhatIfColumns {
    name: u16,
    ends: [u16; 4],
}

impl WhatIfColumns {
    fn for_width(width: u16) -> Self {
        let cost = width.saturating_sub(1);
        // The widths of the columns from the right, each as wide as its longest usual text.
        let [accuracy, p99, rate, name] = match width < 90 {
            true => [7, 11, 19, 21],
            false => [9, 16, 26, 26],
        };
        let accuracy = cost.saturating_sub(accuracy);
        let p99 = accuracy.saturating_sub(p99);
        let rate = p99.saturating_sub(rate);
        let name = rate.saturating_sub(name);
        WhatIfColumns {
            name,
            ends: [rate, p99, accuracy, cost],
        }
    }

    fn head(&self, inside: &mut Painter<'_>) {
        let heads = ["samples/s", "p99 ms", "accuracy", "cost/h"];
        for (end, head) in self.ends.iter().zip(heads) {
            inside.text_right(*end, 0, head, Role::Dim);
        }
    }

    fn cells(&self, inside: &mut Painter<'_>, y: u16, name: (&str, Role), cells: &RowCells) {
        let (name, role) = (format::fit(name.0, self.name.saturating_sub(2)), name.1);
        inside.text(1, y, &name, role);
        let mut from = self.name;
        for (end, (text, role)) in self.ends.iter().zip(cells) {
            let text = format::fit(text, end.saturating_sub(from));
            inside.text_right(*end, y, &text, *role);
            from = *end + 1;
        }
    }
}
