//! One entry of the matrix: its batch size, its load, and what is staged for it.

use divisi::allocation::Cell;
use divisi::ensemble::BatchSize;
use divisi::session::EntryView;

use super::columns::MatrixColumns;
use super::selecting;
use super::shape::DeviceDetail;
use crate::look::{Painter, Role, bar};
use crate::model::Model;
use crate::text::format;

/// Draws it in its column.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    y: u16,
    cell: Cell,
    model: &Model,
    columns: MatrixColumns,
) {
    let end = columns.end(cell.member);
    let (text, role) = entry_text(model, cell);
    inside.text_right(end - 1, y, &text, role);
    let load = view(model, cell).map_or(0.0, |v| v.load);
    let running = model.snapshot.matrix.get(cell).is_some();
    if running && model.edit.is_none() {
        let role = if load < 0.02 { Role::Dim } else { Role::Accent };
        // Nothing is no bar, and what is there but small still shows.
        let glyph = if load > 0.0 {
            bar(load.max(0.125))
        } else {
            " "
        };
        inside.text(end - 1, y, glyph, role);
    }
    if model.cursor == cell && selecting(model) {
        let width = columns.cell.saturating_sub(2);
        inside.restyle(end.saturating_sub(1 + width), y, width, Role::Cursor);
    }
}

/// The size, and a sign where it is staged or suffers.
fn entry_text(model: &Model, cell: Cell) -> (String, Role) {
    let number = |size: Option<BatchSize>| size.map_or("·".to_owned(), |s| s.to_string());
    let (old, new) = (model.snapshot.matrix.get(cell), model.matrix().get(cell));
    if let Some(edit) = &model.edit
        && cell == model.cursor
        && !edit.typed().is_empty()
    {
        return (format!("{}_", edit.typed()), Role::Strong);
    }
    match (old, new) {
        (None, None) => (number(None), Role::Dim),
        (old, new) if old == new && suffers(model, cell) => {
            (format!("!{}", number(new)), Role::Warn)
        }
        (old, new) if old == new => (number(new), Role::Text),
        (None, new) => (format!("+{}", number(new)), Role::Good),
        (_, None) => ("−0".to_owned(), Role::Bad),
        (_, new) => (format!("~{}", number(new)), Role::Warn),
    }
}

fn suffers(model: &Model, cell: Cell) -> bool {
    view(model, cell).is_some_and(|v| v.interfered.is_some())
}

/// Returns the session's view of the entry, or `None` if it has none.
pub(super) fn view(model: &Model, cell: Cell) -> Option<&EntryView> {
    let at = cell.device * model.snapshot.members.len() + cell.member;
    model.snapshot.entries.get(at)
}

/// One row under a device's: the same detail of each of its workers.
pub(super) fn details(
    inside: &mut Painter<'_>,
    y: u16,
    device: usize,
    detail: DeviceDetail,
    model: &Model,
    columns: MatrixColumns,
) {
    let name = match detail {
        DeviceDetail::Fill => " fill",
        DeviceDetail::Wait => " wait",
        DeviceDetail::Load => " load",
    };
    inside.text(0, y, name, Role::Dim);
    for member in columns.members() {
        let cell = Cell { device, member };
        let running = model.snapshot.matrix.get(cell).is_some();
        let Some(view) = view(model, cell).filter(|_| running) else {
            continue;
        };
        // The sign of percent lies under the bar, so that digits stand under digits.
        let text = match detail {
            DeviceDetail::Fill if view.fill <= 0.0 => "– ".to_owned(),
            DeviceDetail::Fill => format::percent(view.fill),
            DeviceDetail::Wait => format!("{} ", format::short(view.waiting as f64)),
            DeviceDetail::Load => format::percent(view.load),
        };
        inside.text_right(columns.end(member), y, &text, Role::Dim);
    }
}

/// Why the last change was not entered, right under the entry (over it at the end).
pub(super) fn error(inside: &mut Painter<'_>, row: u16, model: &Model, columns: MatrixColumns) {
    let Some(text) = model.edit.as_ref().and_then(|e| e.error()) else {
        return;
    };
    let most = inside.width().min(64);
    let lines = format::wrap(&format!("✗ {text}"), most.saturating_sub(2));
    let height = lines.len() as u16;
    let widest = lines.iter().map(|l| format::width(l)).max().unwrap_or(0) + 2;
    let start = columns
        .end(model.cursor.member)
        .saturating_sub(columns.cell);
    let x = start.min(inside.width().saturating_sub(widest));
    let y = match row + 1 + height <= inside.height() {
        true => row + 1,
        false => row.saturating_sub(height),
    };
    // Rather the whole row than a rest of the device's name.
    let (x, widest) = if x < columns.label {
        (0, inside.width())
    } else {
        (x, widest)
    };
    let mut over = inside.part(x, y, widest, height);
    over.erase();
    for (i, line) in lines.iter().enumerate() {
        over.text(1, i as u16, line, Role::Bad);
    }
}
