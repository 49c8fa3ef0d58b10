//! The frame of a panel: its number and name, what it shows just now, and the focus.

use crate::layout::Panel;
use crate::look::Painter;
use crate::model::Model;
use crate::text::format;

/// Draws a panel's title and returns the painter for what is under it. The last row is left to
/// the panel, outside of that painter.
pub(super) fn framed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = (painter.width(), painter.height());
    title(painter, panel, note, model);
    painter.part(1, 1, width.saturating_sub(2), height.saturating_sub(2))
}

/// Draws a panel's title and returns the painter for what is under it, with the last row.
pub(super) fn headed<'a>(
    painter: &'a mut Painter<'_>,
    panel: Panel,
    note: &str,
    model: &Model,
) -> Painter<'a> {
    let (width, height) = (painter.width(), painter.height());
    title(painter, panel, note, model);
    painter.part(1, 1, width.saturating_sub(2), height.saturating_sub(1))
}

/// Draws the panel's number and name, what it shows just now, and the focus.
fn title(painter: &mut Painter<'_>, panel: Panel, note: &str, model: &Model) {
    let title = format!("{} {}", panel.digit(), panel.name());
    // A note is given whole or not at all.
    let room = painter.width().saturating_sub(5 + format::width(&title));
    let note = if format::width(note) <= room {
        note
    } else {
        ""
    };
    painter.ruled(&title, note, model.focus == panel);
}
