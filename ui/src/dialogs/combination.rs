//! The combination of members: the rule, a weight and a temperature for each, and their votes.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi_model::ensemble::{AnswerKind, Combination, RuleKind, Temperature, VoteWeight};
use divisi_runtime::device::MemberIndex;

use super::{DialogBody, DialogReply, field};
use crate::look::{Painter, Role};
use crate::model::{Model, Setting};
use crate::text::format;

/// The dialog's state.
#[derive(Clone, Debug)]
pub struct Voters {
    rule: RuleKind,
    /// The rules that suit the answers.
    rules: &'static [RuleKind],
    rows: Vec<VoterRow>,
    /// The selected row: 0 is the rule, then the members.
    at: usize,
    column: NumberColumn,
    error: Option<String>,
}

/// The number of a member that keys edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberColumn {
    Weight,
    Temperature,
}

#[derive(Clone, Debug)]
struct VoterRow {
    name: String,
    weight: String,
    temperature: String,
    votes: bool,
}

/// The width of temperatures in columns.
const HEAT: u16 = 6;

impl NumberColumn {
    fn other(self) -> Self {
        match self {
            NumberColumn::Weight => NumberColumn::Temperature,
            NumberColumn::Temperature => NumberColumn::Weight,
        }
    }

    fn turned(self) -> &'static str {
        match self {
            NumberColumn::Weight => "temperature",
            NumberColumn::Temperature => "weight",
        }
    }
}

fn temperature(now: &Combination, member: MemberIndex) -> Temperature {
    now.temperatures
        .get(member.get())
        .copied()
        .unwrap_or_default()
}

impl VoterRow {
    /// Returns the entered number, or an error if it is neither a weight nor 0.
    fn weight(&self) -> Result<f64, String> {
        let name = format!("weight of {}", self.name);
        let expected = "a number above 0, or 0 without a vote";
        let wrong = || field::unexpected(&name, expected, &self.weight);
        let number: f64 = self.weight.parse().map_err(|_| wrong())?;
        let weight = VoteWeight::written(number);
        weight.map_err(|why| format!("{name}: {why}"))?;
        Ok(number)
    }

    /// Returns the entered temperature, or an error if it is invalid.
    fn temperature(&self) -> Result<Temperature, String> {
        let typed = self.temperature.parse().ok();
        let typed = typed.and_then(|t| Temperature::new(t).ok());
        typed.ok_or_else(|| {
            let (least, most) = (Temperature::LEAST.get(), Temperature::MOST.get());
            let name = format!("temperature of {}", self.name);
            field::unexpected(&name, format!("{least} to {most}"), &self.temperature)
        })
    }
}

impl Voters {
    /// Starts from the staged or running combination.
    pub fn new(now: &Combination, names: &[String], answers: AnswerKind) -> Self {
        let row = |(member, name): (MemberIndex, &String)| VoterRow {
            name: name.clone(),
            weight: now
                .weights
                .get(member.get())
                .copied()
                .unwrap_or_default()
                .to_string(),
            temperature: temperature(now, member).get().to_string(),
            votes: now.voting.get(member.get()).copied().unwrap_or(true),
        };
        Voters {
            rule: now.rule,
            rules: RuleKind::suited(answers),
            rows: MemberIndex::enumerate(names).map(row).collect(),
            at: 0,
            column: NumberColumn::Weight,
            error: None,
        }
    }

    fn walk(&mut self, step: isize) {
        self.at = self.at.saturating_add_signed(step).min(self.rows.len());
    }

    /// Selects the next rule, or switches the member's vote.
    fn turn(&mut self, step: isize) {
        if let Some(row) = self.row() {
            row.votes = !row.votes;
            return;
        }
        let all = self.rules;
        let at = all.iter().position(|r| *r == self.rule).unwrap_or(0) as isize;
        self.rule = all[(at + step).rem_euclid(all.len() as isize) as usize];
    }

    fn row(&mut self) -> Option<&mut VoterRow> {
        self.rows.get_mut(self.at.checked_sub(1)?)
    }

    fn type_number(&mut self, key: &KeyEvent) {
        let part = |c: char| c.is_ascii_digit() || c == '.';
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let other = matches!(key.code, KeyCode::Char(c) if !control && !part(c));
        let column = self.column;
        if let (Some(row), false) = (self.row(), other) {
            let number = match column {
                NumberColumn::Weight => &mut row.weight,
                NumberColumn::Temperature => &mut row.temperature,
            };
            field::typed(number, key);
        }
    }

    fn submit(&mut self) -> DialogReply {
        match self.combination() {
            Ok(combination) => DialogReply::Stage(Setting::Combination(combination)),
            Err(error) => {
                self.error = Some(error);
                DialogReply::Stay
            }
        }
    }

    fn combination(&self) -> Result<Combination, String> {
        let temperatures = self.rows.iter().map(VoterRow::temperature);
        let temperatures: Vec<Temperature> = temperatures.collect::<Result<_, _>>()?;
        let weights = self.rows.iter().map(VoterRow::weight);
        let weights: Vec<f64> = weights.collect::<Result<_, _>>()?;
        let voting = self.rows.iter().map(|r| r.votes).collect();
        let combination = Combination::from_written(self.rule, &weights, voting);
        let combination = combination.map_err(|e| e.to_string())?;
        let combination = combination.with_temperatures(temperatures);
        combination
            .check(self.rows.len())
            .map_err(|e| e.to_string())?;
        Ok(combination)
    }

    fn draw_rule(&self, inside: &mut Painter<'_>) {
        let chosen = self.at == 0;
        let sign = if chosen { "▸" } else { " " };
        let pieces = [
            (sign, Role::Accent),
            ("rule  ", Role::Text),
            (self.rule.name(), Role::Strong),
        ];
        let x = inside.pieces(1, 0, &pieces);
        if chosen {
            inside.text(x + 2, 0, "space: other", Role::Dim);
        }
    }

    fn draw_row(&self, inside: &mut Painter<'_>, y: u16, i: usize) {
        let row = &self.rows[i];
        let chosen = self.at == i + 1;
        let sign = if chosen { "▸" } else { " " };
        let vote = if row.votes { "● yes " } else { "○ no  " };
        let role = if row.votes { Role::Text } else { Role::Dim };
        let x = inside.pieces(1, y, &[(sign, Role::Accent), (" ", role), (vote, role)]);
        let end = inside.width().saturating_sub(2);
        let name = format::fit_name(&row.name, end.saturating_sub(x + 9 + HEAT));
        inside.text(x + 1, y, &name, role);
        // Weights apply to one rule only.
        let counts = self.rule.uses_weights() && row.votes;
        let role = if counts { Role::Text } else { Role::Dim };
        inside.text_right(end.saturating_sub(HEAT), y, &row.weight, role);
        let heated = row.votes && row.temperature != "1";
        let role = if heated { Role::Text } else { Role::Dim };
        inside.text_right(end, y, &row.temperature, role);
        if chosen {
            let at = match self.column {
                NumberColumn::Weight => end.saturating_sub(HEAT),
                NumberColumn::Temperature => end,
            };
            inside.text(at, y, " ", Role::Cursor);
        }
    }

    fn draw_words(&self, inside: &mut Painter<'_>) {
        let last = inside.height().saturating_sub(1);
        let room = inside.width().saturating_sub(2);
        if let Some(error) = &self.error {
            let text = format::fit(&format!("✗ {error}"), room);
            inside.text(1, last.saturating_sub(1), &text, Role::Bad);
        } else if self.rule != RuleKind::WeightedAverage {
            let text = "weights apply to weighted-average";
            let text = format::fit(text, room);
            inside.text(1, last.saturating_sub(1), &text, Role::Dim);
        }
        let other = self.column.turned();
        let keys = [
            ("space", "turn"),
            ("Enter", "stage"),
            ("Esc", "back"),
            ("t", other),
        ];
        let shown = if inside.width() >= 60 { 4 } else { 3 };
        inside.keys(1, last, 2, &keys[..shown]);
    }
}

impl DialogBody for Voters {
    /// Arrows choose a row, space switches it, digits enter a weight or, after `t`, a temperature;
    /// `Enter` stages.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        self.error = None;
        match key.code {
            KeyCode::Esc => return DialogReply::Close,
            KeyCode::Enter => return self.submit(),
            KeyCode::Up | KeyCode::BackTab | KeyCode::Char('k') => self.walk(-1),
            KeyCode::Down | KeyCode::Tab | KeyCode::Char('j') => self.walk(1),
            KeyCode::PageUp => self.walk(-10),
            KeyCode::PageDown => self.walk(10),
            KeyCode::Char(' ') => self.turn(1),
            KeyCode::Right => self.turn(1),
            KeyCode::Left => self.turn(-1),
            KeyCode::Char('t') => self.column = self.column.other(),
            _ => self.type_number(key),
        }
        DialogReply::Stay
    }

    /// Pastes a number into the weight at the cursor.
    fn on_paste(&mut self, line: &str) -> bool {
        self.error = None;
        let row = self.row().filter(|_| field::is_number(line));
        row.is_some_and(|row| field::pasted(&mut row.weight, line))
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, _: &Model) {
        let width = painter.width().saturating_sub(2).min(64);
        let height = (self.rows.len() as u16)
            .saturating_add(6)
            .min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("combination", true);
        self.draw_rule(&mut inside);
        let head = [("  votes  member", Role::Dim)];
        inside.pieces(1, 1, &head);
        let end = inside.width().saturating_sub(2);
        inside.text_right(end.saturating_sub(HEAT), 1, "weight", Role::Dim);
        inside.text_right(end, 1, "temp", Role::Dim);
        let room = usize::from(inside.height().saturating_sub(4)).max(1);
        let first = self.at.saturating_sub(room);
        for (y, i) in (first..self.rows.len()).take(room).enumerate() {
            self.draw_row(&mut inside, y as u16 + 2, i);
        }
        self.draw_words(&mut inside);
    }

    fn is_of_frame(&self) -> bool {
        true
    }
}
