//! The matrix: devices × members, with the load of each entry; also while it is edited.

mod columns;
mod entry;
mod gauges;
mod shape;
mod side;
mod staged;
mod words;

use divisi::allocation::Cell;
use ratatui::layout::{Position, Rect};

use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use columns::MatrixColumns;
use shape::{DETAILS, MatrixShape};

pub(super) use shape::needed as rows_needed;

/// Draws the panel.
pub(super) fn draw(pen: &mut Painter<'_>, model: &Model) {
    let columns = MatrixColumns::new(model, pen.width().saturating_sub(2));
    let shape = MatrixShape::new(model, columns, pen.height().saturating_sub(1));
    let note = note(model, columns, shape, pen.width().saturating_sub(21));
    let mut inside = headed(pen, Panel::Allocation, &note, model);
    names(&mut inside, model, columns, shape.stagger);
    for row in 0..shape.devices {
        let device = shape.first + usize::from(row);
        let y = shape.head + row * shape.each();
        device_row(&mut inside, y, device, model, columns);
        for (i, detail) in DETAILS.iter().take(usize::from(shape.details)).enumerate() {
            let y = y + 1 + i as u16;
            entry::details(&mut inside, y, device, *detail, model, columns);
            if let Some(view) = model.snapshot.devices.get(device) {
                gauges::draw(&mut inside, y, i, view, columns);
            }
        }
    }
    words::draw(&mut inside, shape.under(), model, columns);
    let row = model.cursor.device.saturating_sub(shape.first) as u16;
    let at = shape.head + row * shape.each();
    entry::error(&mut inside, at, model, columns);
}

/// The entry at a place of the screen, for the panel in `area`.
pub(crate) fn cell_at(model: &Model, area: Rect, at: Position) -> Option<Cell> {
    let columns = MatrixColumns::new(model, area.width.saturating_sub(2));
    let shape = MatrixShape::new(model, columns, area.height.saturating_sub(1));
    let device = shape.device(at.y.checked_sub(area.y + 1)?)?;
    let x = at.x.checked_sub(area.x + 1)?;
    let member = columns.member(x)?;
    Some(Cell { device, member })
}

/// Returns the note on the staged changes, or on the devices and members that are hidden.
/// If both are hidden and `room` is too small, only the members are named.
fn note(model: &Model, columns: MatrixColumns, shape: MatrixShape, room: u16) -> String {
    if let Some(edit) = &model.edit {
        return staged::note(model, edit);
    }
    let hidden = |shown: usize, all: usize, what: &str| {
        (shown < all).then(|| format!("{shown} of {all} {what}"))
    };
    let all = model.snapshot.devices.len();
    let devices = hidden(usize::from(shape.devices), all, "devices");
    let members = hidden(columns.shown, model.snapshot.members.len(), "members");
    match (devices, members) {
        (None, None) => "batch sizes · load over 1 s".to_owned(),
        (Some(part), None) | (None, Some(part)) => part,
        (Some(devices), Some(members)) => {
            let both = format!("{devices}, {members}");
            if format::width(&both) <= room {
                both
            } else {
                members
            }
        }
    }
}

fn names(inside: &mut Painter<'_>, model: &Model, columns: MatrixColumns, stagger: bool) {
    for member in columns.members() {
        let Some(view) = model.snapshot.members.get(member) else {
            continue;
        };
        let odd = (member - columns.first) % 2 == 1;
        let (y, room) = match stagger {
            true => (u16::from(!odd), columns.cell * 2 - 1),
            false => (0, columns.cell - 1),
        };
        let end = columns.end(member);
        let name = format::fit_name(&view.name, room.min(end));
        let role = if model.cursor.member == member && selecting(model) {
            Role::Strong
        } else {
            Role::Dim
        };
        inside.text_right(end, y, &name, role);
    }
    side::names(inside, u16::from(stagger), columns);
}

/// The cursor shows where it means something.
fn selecting(model: &Model) -> bool {
    model.edit.is_some() || model.focus == Panel::Allocation
}

fn device_row(
    inside: &mut Painter<'_>,
    y: u16,
    device: usize,
    model: &Model,
    columns: MatrixColumns,
) {
    let Some(view) = model.snapshot.devices.get(device) else {
        return;
    };
    let name = columns::device_label(view, columns.short);
    let name = format::fit_name(&name, columns.label.saturating_sub(1));
    let role = if view.lost { Role::Gone } else { Role::Text };
    inside.text(0, y, &name, role);
    for member in columns.members() {
        entry::draw(inside, y, Cell { device, member }, model, columns);
    }
    side::draw(inside, y, view, columns);
}
