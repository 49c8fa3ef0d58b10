//! The frame of a panel: its number and name, a note on its contents, and the focus.

use super::areas;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// The columns of a title besides the panel's name and its note.
const BESIDE_NOTE: u16 = 9;

/// The rows of a frame: the title and the lower edge.
pub(super) const EDGES: u16 = 2;

/// Returns the rows that a panel's frame takes. Small screens have no room for a lower edge.
pub(super) fn edges(model: &Model) -> u16 {
    match areas::is_roomy(model.area) {
        true => EDGES,
        false => 1,
    }
}

/// Draws a panel's frame with its title and returns the painter for the area inside.
pub(super) fn headed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = inner(painter, model);
    title(painter, panel, note, model);
    painter.part(1, 1, width, height)
}

/// Draws a panel's frame with its title and returns the painter for the area inside. The panel
/// writes into the lower edge, which small screens have as well.
pub(super) fn framed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = (painter.width(), painter.height());
    title(painter, panel, note, model);
    painter.part(1, 1, width.saturating_sub(2), height.saturating_sub(EDGES))
}

/// Writes a finding into the lower edge of a frame, at the right, if there is room for all of it.
pub(super) fn finding(painter: &mut Painter<'_>, pieces: &[(&str, Role)], model: &Model) {
    let width: u16 = pieces.iter().map(|piece| format::width(piece.0)).sum();
    let Some(x) = painter.width().checked_sub(width + 5) else {
        return;
    };
    if edges(model) == EDGES && x > 1 {
        let y = painter.height().saturating_sub(1);
        painter.part(x, y, width + 2, 1).erase();
        painter.pieces(x + 1, y, pieces);
    }
}

/// Returns the columns and rows left by [`headed`].
pub(super) fn inner(painter: &Painter<'_>, model: &Model) -> (u16, u16) {
    let (width, height) = (painter.width(), painter.height());
    (width.saturating_sub(2), height.saturating_sub(edges(model)))
}

/// Returns the number of hidden rows of a list above and below, in words, or an empty text.
pub(super) fn hidden(above: usize, below: usize) -> String {
    let rows = |count| if count == 1 { "row" } else { "rows" };
    match (above, below) {
        (0, 0) => String::new(),
        (above, 0) => format!("{above} {} above", rows(above)),
        (0, below) => format!("{below} {} below", rows(below)),
        (above, below) => format!("{above} {} above, {below} below", rows(above)),
    }
}

/// Returns a note with the words on hidden rows, or only these if there is no room for both.
pub(super) fn note_with_hidden(panel: Panel, what: String, hidden: String, width: u16) -> String {
    if hidden.is_empty() {
        return what;
    }
    let both = format!("{what} · {hidden}");
    let title = format::width(panel.name()) + BESIDE_NOTE;
    match format::width(&both) + title <= width {
        true => both,
        false => hidden,
    }
}

/// Returns a note with the time windows of the panel's figures, if there is room for both.
pub(super) fn note_with_windows(panel: Panel, note: String, windows: &str, width: u16) -> String {
    let both = match note.is_empty() {
        true => windows.to_owned(),
        false => format!("{note} · {windows}"),
    };
    let title = format::width(panel.name()) + BESIDE_NOTE;
    match format::width(&both) + title <= width {
        true => both,
        false => note,
    }
}

/// Draws the panel's number and name, a note on its contents, and the focus.
fn title(painter: &mut Painter<'_>, panel: Panel, note: &str, model: &Model) {
    let title = format!("{} {}", panel.sign(), panel.name());
    // A note is shown whole or not at all.
    let room = painter.width().saturating_sub(7 + format::width(&title));
    let note = if format::width(note) <= room {
        note
    } else {
        ""
    };
    let focused = model.focus == panel;
    match edges(model) {
        EDGES => painter.bordered(&title, note, focused),
        _ => painter.ruled(&title, note, focused),
    }
}
