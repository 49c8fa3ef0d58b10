//! The program's log, newest last. On the whole screen, texts are shown completely.

use std::time::Duration;

use divisi_session::LogEntry;

use super::body::{PanelBody, PanelNews};
use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::{Severity, format};

/// The width from which times and words precede the texts.
const WIDE: u16 = 44;

/// The width from which times of day precede the times since the start.
const WIDEST: u16 = 60;

/// The columns of a time of day.
const CLOCK: u16 = 9;

/// Returns the columns before a text: times and words, or signs only.
fn before(model: &Model, width: u16) -> u16 {
    match width {
        0..WIDE => 3,
        _ => 16 + clock_columns(model, width),
    }
}

/// Returns the columns of times of day, or 0 if they are unknown or there is no room.
fn clock_columns(model: &Model, width: u16) -> u16 {
    let has_clock = model.snapshot.started.is_some() && width >= WIDEST;
    if has_clock { CLOCK } else { 0 }
}

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    scroll_end: |model, columns, rows| lines(model, columns).len().saturating_sub(rows),
    is_from_end: true,
    news,
    ..PanelBody::new(draw)
};

/// The time for which a warning keeps the panel open.
const RECENT: Duration = Duration::from_secs(300);

/// The width of a screen on which three panels fit side by side.
const ROOMY: u16 = 120;

/// Returns the number of recent warnings. Without any, the panel folds on narrow screens.
fn news(model: &Model) -> PanelNews {
    let shown = &model.snapshot;
    let since = shown.now.saturating_sub(RECENT);
    let lines = shown.log.iter().filter(|line| line.at >= since);
    let grave = lines.filter(|line| Severity::from(line.level) != Severity::Information);
    match grave.count() {
        0 if model.area.width < ROOMY => PanelNews::quiet(shown.log.len().to_string()),
        0 => PanelNews::open(shown.log.len().to_string()),
        grave => PanelNews::open(format!("! {grave}")),
    }
}

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let back = model.scrolled(Panel::Log);
    let note = match back {
        0 => String::new(),
        1 => "1 line back".to_owned(),
        n => format!("{n} lines back"),
    };
    let mut inside = headed(painter, Panel::Log, &note, model);
    let lines = lines(model, inside.width());
    if lines.is_empty() {
        inside.text(1, 0, "no messages", Role::Dim);
    }
    let room = usize::from(inside.height());
    let last = lines.len().saturating_sub(back).max(room.min(lines.len()));
    let first = last.saturating_sub(room);
    for (y, line) in lines[first..last].iter().enumerate() {
        line.draw(&mut inside, y as u16, model);
    }
}

/// A line of the screen: an entry, or a part of its text.
struct LogScreenLine<'a> {
    entry: &'a LogEntry,
    text: String,
    /// Whether the entry begins here.
    is_first: bool,
}

/// Returns the lines of all entries, for a panel of a width.
fn lines(model: &Model, width: u16) -> Vec<LogScreenLine<'_>> {
    let room = width.saturating_sub(before(model, width));
    let of_entry = |entry| {
        let texts = texts(entry, room, model.expanded).into_iter();
        texts.enumerate().map(move |(at, text)| LogScreenLine {
            entry,
            text,
            is_first: at == 0,
        })
    };
    model.snapshot.log.iter().flat_map(of_entry).collect()
}

fn texts(entry: &LogEntry, room: u16, whole: bool) -> Vec<String> {
    match whole && format::width(&entry.text) > room {
        true => format::wrap(&entry.text, room),
        false => vec![format::fit(&entry.text, room)],
    }
}

impl LogScreenLine<'_> {
    fn draw(&self, inside: &mut Painter<'_>, y: u16, model: &Model) {
        let width = inside.width();
        let severity = Severity::from(self.entry.level);
        let role = Role::from(severity);
        if self.is_first {
            head(inside, y, self.entry, model);
        }
        let text = match severity {
            Severity::Information => Role::Text,
            _ => role,
        };
        inside.text(before(model, width), y, &self.text, text);
    }
}

/// Draws the time and the severity.
fn head(inside: &mut Painter<'_>, y: u16, entry: &LogEntry, model: &Model) {
    let wide = inside.width() >= WIDE;
    let severity = Severity::from(entry.level);
    let role = Role::from(severity);
    if !wide {
        inside.text(1, y, severity.sign(), role);
        return;
    }
    let word = match severity {
        Severity::Information => "info",
        Severity::Warning => "WARN",
        Severity::Fault => "FAULT",
    };
    let seconds = entry.at.as_secs_f64();
    // After eleven days there is no column for a decimal.
    let digits = usize::from(seconds < 999_999.0);
    let time = format!("{seconds:>8.digits$} ");
    let clock = clock_columns(model, inside.width());
    if let Some(at) = model
        .clock
        .at(&model.snapshot, entry.at)
        .filter(|_| clock > 0)
    {
        inside.text(1, y, &at, Role::Text);
    }
    let x = inside.text(1 + clock, y, &time, Role::Dim);
    inside.text(x, y, word, role);
}
