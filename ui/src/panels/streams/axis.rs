//! The time axis in the frame's lower line, and what changed when.

use divisi::session::{Mark, MarkKind};

use super::scale;
use super::view::StreamsView;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// Draws it.
pub(super) fn draw(pen: &mut Painter<'_>, view: &StreamsView, model: &Model) {
    let y = pen.height().saturating_sub(1);
    let start = view.label + 1;
    let width = pen.width().saturating_sub(start + 1);
    let mut taken = vec![words(pen, start, &back(model, 1.0))];
    if width > 40 {
        let middle = (start + width / 2).saturating_sub(1);
        taken.push(words(pen, middle, &back(model, 0.5)));
    }
    let end = end(model);
    let last = pen.width().saturating_sub(1 + format::width(&end));
    taken.push(words(pen, last, &end));
    for mark in &model.snapshot.marks {
        draw_mark(pen, y, view, mark, &mut taken);
    }
}

/// So much of the window's length before its end.
fn back(model: &Model, part: f64) -> String {
    let length = model.streams.length().mul_f64(part);
    format!(" −{} ", scale::round(length))
}

fn end(model: &Model) -> String {
    match model.streams.frozen {
        Some(at) => format!(" at {} ", scale::moment(at, model.streams.length())),
        None => " now ".to_owned(),
    }
}

/// Writes into the axis; returns the columns taken.
fn words(pen: &mut Painter<'_>, x: u16, text: &str) -> (u16, u16) {
    let y = pen.height().saturating_sub(1);
    (x, pen.text(x, y, text, Role::Dim))
}

/// A thin sign where something changed, and what it was where there is room.
fn draw_mark(
    pen: &mut Painter<'_>,
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
    pen.text(x, y, "╎", role);
    let (from, to) = (x, x + 2 + format::width(word));
    let free = taken.iter().all(|(a, b)| to <= *a || from >= *b);
    if free && to < pen.width() {
        pen.text(x + 1, y, word, role);
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
    }
}
