//! The matrix: devices × members, with the load of each entry; also while it is edited.

mod columns;
mod entry;
mod side;
mod staged;
mod words;

use divisi::allocation::Cell;

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::theme::Role;
use columns::Columns;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let columns = Columns::new(model, pen.width().saturating_sub(2));
    let (height, devices) = (pen.height().saturating_sub(2), devices(model));
    let stagger = height >= devices.saturating_add(2).min(6) && !columns.names_fit(model);
    let head = 1 + u16::from(stagger);
    let rows = rows(height.saturating_sub(head), model);
    let note = note(model, columns, rows, pen.width().saturating_sub(21));
    let mut inside = framed(pen, Panel::Allocation, &note, model);
    names(&mut inside, model, columns, stagger);
    let first = (model.cursor.device + 1).saturating_sub(usize::from(rows));
    for row in 0..rows {
        let device = first + usize::from(row);
        device_row(&mut inside, head + row, device, model, columns);
    }
    words::draw(&mut inside, head + rows, model, columns);
    let at = head + (model.cursor.device.saturating_sub(first)) as u16;
    entry::error(&mut inside, at, model, columns);
}

fn devices(model: &Model) -> u16 {
    u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX)
}

/// Rows for devices out of `room`: what is urgent has a line of its own.
fn rows(room: u16, model: &Model) -> u16 {
    let spare = u16::from(room > 2 && words::is_urgent(model));
    room.saturating_sub(spare).min(devices(model))
}

/// What is staged, or what is hidden; the longest of its forms that fits in `room`.
fn note(model: &Model, columns: Columns, rows: u16, room: u16) -> String {
    if let Some(edit) = &model.edit {
        return staged::note(model, edit);
    }
    let hidden = |shown: usize, all: usize, what: &str| {
        (shown < all).then(|| format!("{shown} of {all} {what}"))
    };
    let devices = hidden(usize::from(rows), model.snapshot.devices.len(), "devices");
    let members = hidden(columns.shown, model.snapshot.members.len(), "members");
    match (devices, members) {
        (None, None) => "batch sizes and load".to_owned(),
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

fn names(inside: &mut Pen<'_>, model: &Model, columns: Columns, stagger: bool) {
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

fn device_row(inside: &mut Pen<'_>, y: u16, device: usize, model: &Model, columns: Columns) {
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
