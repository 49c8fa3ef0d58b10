//! The earlier setups, with their times and results; each can be restored.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_model::allocation::Difference;
use divisi_session::{HistoryEntry, SettingChange, Setup, Snapshot};

use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::what_if::{self, StyledLine};
use crate::text::format;

/// The list, newest first.
#[derive(Clone, Debug, Default)]
pub struct HistoryDialog {
    /// The number of the chosen setup, since new ones may arrive meanwhile. `None` is the newest.
    chosen: Option<u64>,
}

impl HistoryDialog {
    fn choose(&mut self, shown: &Snapshot, step: isize) {
        let at = self.at(shown).map_or(0, |(at, _)| at);
        let last = shown.history.len().saturating_sub(1);
        let next = at.saturating_add_signed(step).min(last);
        self.chosen = shown.history.iter().rev().nth(next).map(|r| r.number);
    }

    /// Returns the chosen setup and its place from the newest.
    fn at<'a>(&self, shown: &'a Snapshot) -> Option<(usize, &'a HistoryEntry)> {
        let newest = || shown.history.iter().rev().enumerate();
        let chosen = newest().find(|(_, r)| Some(r.number) == self.chosen);
        chosen.or_else(|| newest().next())
    }

    /// Returns the differences between the chosen and the running setup.
    fn difference(&self, model: &Model, width: u16) -> Vec<StyledLine> {
        let Some((_, entry)) = self.at(&model.snapshot) else {
            return Vec::new();
        };
        let running = &model.snapshot;
        if entry.setup.matrix.frame() != running.matrix.frame() {
            let text = format!(
                "{} · {} · with other models; undo restores them",
                entry.number, entry.why
            );
            return what_if::wrapped(&text, width, Role::Dim).collect();
        }
        let matrices = Difference::between(&running.matrix, &entry.setup.matrix);
        let changed = matrices.changed();
        let mut lines: Vec<StyledLine> = changed
            .map(|c| what_if::change(c, &entry.setup.matrix, width))
            .collect();
        let settings = settings(&running.setup(), &entry.setup);
        lines.extend(what_if::settings(&settings, width));
        let what = match lines.is_empty() {
            true => "the running setup",
            false => "restoring it would change",
        };
        // The whole reason, which the list may have cut.
        let head = format!("{} · {} · {what}", entry.number, entry.why);
        lines.splice(0..0, what_if::wrapped(&head, width, Role::Dim));
        lines
    }
}

impl DialogBody for HistoryDialog {
    /// Arrows choose, `Enter` compares with the running setup.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let shown = &model.snapshot;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'Y') => return DialogReply::Close,
            KeyCode::Up | KeyCode::Char('k') => self.choose(shown, -1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(shown, 1),
            KeyCode::PageUp => self.choose(shown, -10),
            KeyCode::PageDown => self.choose(shown, 10),
            KeyCode::Enter => {
                let entry = self.at(shown).map(|(_, entry)| entry);
                return entry.map_or(DialogReply::Stay, |entry| DialogReply::BringBack {
                    number: entry.number,
                    setup: Box::new(entry.setup.clone()),
                });
            }
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws the dialog over most of the screen.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let width = painter.width().saturating_sub(2).min(100);
        let difference = self.difference(model, width.saturating_sub(4));
        let rows = model.snapshot.history.len().max(1) as u16;
        let below = (difference.len() as u16 + 1).min(painter.height() / 2);
        let height = rows.saturating_add(below + 5).min(painter.height());
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("history", true);
        let Some((at, _)) = self.at(&model.snapshot) else {
            inside.text(1, 0, "no setup has run yet", Role::Dim);
            return keys(&mut inside);
        };
        let columns = HistoryColumns::for_width(inside.width(), model);
        columns.head(&mut inside);
        let room = usize::from(inside.height().saturating_sub(below + 3)).max(1);
        let first = (at + 1).saturating_sub(room);
        let entries = model.snapshot.history.iter().rev().enumerate();
        for (y, (i, entry)) in entries.skip(first).take(room).enumerate() {
            columns.row(&mut inside, y as u16 + 1, entry, i == at, model);
        }
        let under = inside.height().saturating_sub(below + 1);
        for (y, line) in difference.iter().take(usize::from(below)).enumerate() {
            inside.line(1, under + y as u16, line);
        }
        keys(&mut inside);
    }
}

/// Returns the settings that differ in words, other than the matrix.
fn settings(running: &Setup, setup: &Setup) -> Vec<String> {
    let members = &setup.matrix.frame().members;
    let changes = SettingChange::between(running, setup);
    changes.iter().flat_map(|c| c.words(members)).collect()
}

fn keys(inside: &mut Painter<'_>) {
    let keys = [("Enter", "restore"), ("Esc", "back"), ("↑ ↓", "choose")];
    inside.keys(1, inside.height().saturating_sub(1), 2, &keys);
}

/// The columns that fit, and the width of `why`.
struct HistoryColumns {
    /// Whether p50, failures and accuracy are shown too.
    all: bool,
    /// Whether times of day are shown too.
    clock: bool,
    why: u16,
}

impl HistoryColumns {
    fn for_width(width: u16, model: &Model) -> Self {
        let all = width >= 70;
        let clock = width >= 80 && model.snapshot.started.is_some();
        // The columns of numbers on both sides.
        let taken = if all { 59 } else { 24 } + if clock { 9 } else { 0 };
        let why = width.saturating_sub(taken);
        HistoryColumns { all, clock, why }
    }

    fn head(&self, inside: &mut Painter<'_>) {
        let text = match self.all {
            true if self.clock => {
                format!(
                    " {:>3} {:>8} {:>8} {:>8}  why",
                    "#", "at", "since", "lasted"
                )
            }
            true => format!(" {:>3} {:>8} {:>8}  why", "#", "since", "lasted"),
            false => format!(" {:>2} {:>6}  why", "#", "since"),
        };
        let numbers = match self.all {
            true => "  smp/s   p50   p99  failed  right",
            false => " smp/s  p99",
        };
        let x = inside.text(0, 0, &text, Role::Dim) - 3 + self.why;
        inside.text(x, 0, numbers, Role::Dim);
    }

    fn row(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        entry: &HistoryEntry,
        chosen: bool,
        model: &Model,
    ) {
        let sign = if chosen { "▸" } else { " " };
        let x = inside.text(0, y, sign, Role::Accent);
        let running = entry.until.is_none();
        let role = if running { Role::Strong } else { Role::Text };
        let x = inside.text(x, y, &self.times(entry, model), role);
        let why = format::fit(&entry.why, self.why);
        inside.text(x, y, &why, role);
        inside.text(x + self.why, y, &self.numbers(entry), role);
        if chosen {
            inside.restyle(1, y, inside.width().saturating_sub(2), Role::Cursor);
        }
    }

    fn times(&self, entry: &HistoryEntry, model: &Model) -> String {
        let lasted = entry
            .until
            .unwrap_or(model.snapshot.now)
            .saturating_sub(entry.from);
        let at = model.clock.at(&model.snapshot, entry.from);
        let (from, lasted) = (clock(entry.from), clock(lasted));
        match self.all {
            true if self.clock => {
                let at = at.unwrap_or_default();
                format!("{:>3} {at:>8} {from:>8} {lasted:>8}  ", entry.number)
            }
            true => format!("{:>3} {from:>8} {lasted:>8}  ", entry.number),
            false => format!("{:>2} {from:>6}  ", entry.number),
        }
    }

    fn numbers(&self, entry: &HistoryEntry) -> String {
        let did = &entry.did;
        let time = |micros: Option<u64>| micros.map_or("–".to_owned(), format::millis);
        let rate = format::short(did.samples_per_s);
        let right = did.accuracy.map_or("–".to_owned(), format::percent);
        let (p50, p99) = (time(did.p50), time(did.p99));
        match self.all {
            true => format!("{rate:>7}{p50:>6}{p99:>6}{:>8}{right:>7}", did.failed),
            false => format!("{rate:>6}{p99:>5}"),
        }
    }
}

/// Formats the time since the start: `0:42`, `1:05:09`.
fn clock(time: std::time::Duration) -> String {
    let all = time.as_secs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
