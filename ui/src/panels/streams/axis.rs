//! The time axis in the frame's lower line, the changes on it, and times in words.

use std::time::Duration;

use divisi_session::{Mark, MarkKind};

use super::view::StreamsView;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws the axis.
pub(super) fn draw(painter: &mut Painter<'_>, view: &StreamsView, model: &Model) {
    let y = painter.height().saturating_sub(1);
    let start = view.label + 1;
    let width = painter.width().saturating_sub(start + 1);
    let mut taken = vec![words(painter, start, &back(model, 1.0))];
    if width > 40 {
        let middle = (start + width / 2).saturating_sub(1);
        taken.push(words(painter, middle, &back(model, 0.5)));
    }
    let end = end(model);
    let last = painter.width().saturating_sub(1 + format::width(&end));
    taken.push(words(painter, last, &end));
    for mark in &model.snapshot.marks {
        draw_mark(painter, y, view, mark, &mut taken);
    }
}

/// Formats the time before the end of the window, at a fraction of its length.
fn back(model: &Model, part: f64) -> String {
    let length = model.streams.length().mul_f64(part);
    format!(" −{} ", length_words(length))
}

fn end(model: &Model) -> String {
    match model.streams.frozen {
        Some(at) => format!(" at {} ", moment_words(at, model.streams.length())),
        None => " now ".to_owned(),
    }
}

/// Writes into the axis and returns the columns used.
fn words(painter: &mut Painter<'_>, x: u16, text: &str) -> (u16, u16) {
    let y = painter.height().saturating_sub(1);
    (x, painter.text(x, y, text, Role::Dim))
}

/// Draws a thin sign at a change, with its name if there is room.
fn draw_mark(
    painter: &mut Painter<'_>,
    y: u16,
    view: &StreamsView,
    mark: &Mark,
    taken: &mut Vec<(u16, u16)>,
) {
    let Some(cell) = view.window.cell_of(mark.at) else {
        return;
    };
    let (word, role) = describe(mark.kind);
    let x = view.label + 1 + cell as u16;
    painter.text(x, y, "╎", role);
    let (from, to) = (x, x + 2 + format::width(word));
    let free = taken.iter().all(|(a, b)| to <= *a || from >= *b);
    if free && to < painter.width() {
        painter.text(x + 1, y, word, role);
        taken.push((from, to));
    }
}

fn describe(kind: MarkKind) -> (&'static str, Role) {
    match kind {
        MarkKind::Reload => ("reload", Role::Accent),
        MarkKind::Policy => ("policy", Role::Accent),
        MarkKind::Combination => ("combination", Role::Accent),
        MarkKind::Load => ("load", Role::Accent),
        MarkKind::Device => ("device", Role::Warn),
        MarkKind::Rollback => ("rolled back", Role::Warn),
        MarkKind::Models => ("models", Role::Accent),
    }
}

/// Formats a round time: `200 µs`, `50 ms`, `5 s`, `10 min`.
pub(super) fn length_words(length: Duration) -> String {
    let micros = length.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 if micros.is_multiple_of(1000) => format!("{} ms", micros / 1000),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        1_000_000..60_000_000 if micros.is_multiple_of(1_000_000) => {
            format!("{} s", micros / 1_000_000)
        }
        m if m >= 60_000_000 && m.is_multiple_of(60_000_000) => format!("{} min", m / 60_000_000),
        _ => format::duration(length),
    }
}

/// Formats the time of a step with three significant digits: `412 µs`, `12.3 ms`, `1.23 s`.
pub(super) fn taken_words(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1e3;
    let (value, unit) = match micros {
        m if m < 999.5 => (m, "µs"),
        m if m < 999_500.0 => (m / 1e3, "ms"),
        m => (m / 1e6, "s"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Formats a moment since the engine's start, with the precision of the picture.
fn moment_words(at: Duration, length: Duration) -> String {
    let digits = match length.as_micros() {
        0..10_000 => 6,
        10_000..60_000_000 => 3,
        _ => 1,
    };
    format!("{:.digits$} s", at.as_secs_f64())
}
