//! The matrix: devices × members, with the load of each entry; also during editing.

mod geometry;
mod precisions;
mod side;
mod words;

use divisi_model::allocation::Cell;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::DeviceIndex;
use ratatui::layout::{Position, Rect};

use super::body::PanelBody;
use super::frame::headed;
use crate::layout::Panel;
use crate::look::{Painter, Role, bar};
use crate::model::Model;
use crate::text::format;
use geometry::{DETAILS, DeviceDetail, MatrixColumns, MatrixShape, rows_needed};

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: 44,
    height: |model, all| {
        let devices = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
        let least = devices.saturating_add(7).clamp(7, (all * 2 / 5).max(7));
        (least, rows_needed(model).max(least))
    },
    ..PanelBody::new(draw)
};

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let columns = MatrixColumns::new(model, painter.width().saturating_sub(2));
    let shape = MatrixShape::new(model, columns, painter.height().saturating_sub(1));
    let note = note(model, columns, shape, painter.width().saturating_sub(21));
    let mut inside = headed(painter, Panel::Allocation, &note, model);
    names(&mut inside, model, columns, shape.stagger);
    for row in 0..shape.devices {
        let device = DeviceIndex::new(shape.first + usize::from(row));
        let y = shape.head + row * shape.each();
        device_row(&mut inside, y, device, model, columns);
        for (i, detail) in DETAILS.iter().take(usize::from(shape.details)).enumerate() {
            let y = y + 1 + i as u16;
            detail_row(&mut inside, y, device, *detail, model, columns);
            if let Some(view) = model.snapshot.device(device) {
                side::draw_gauges(&mut inside, y, i, view, columns);
            }
        }
    }
    words::draw(&mut inside, shape.end_row(), model, columns);
    let row = model.cursor.device.get().saturating_sub(shape.first) as u16;
    let at = shape.head + row * shape.each();
    draw_error(&mut inside, at, model, columns);
}

/// Returns the entry at a place of the screen, for the panel in `area`.
pub(crate) fn cell_at(model: &Model, area: Rect, at: Position) -> Option<Cell> {
    let columns = MatrixColumns::new(model, area.width.saturating_sub(2));
    let shape = MatrixShape::new(model, columns, area.height.saturating_sub(1));
    let device = shape.device(at.y.checked_sub(area.y + 1)?)?;
    let x = at.x.checked_sub(area.x + 1)?;
    let member = columns.member(x)?;
    Some(Cell { device, member })
}

/// Returns the note on staged changes, or on hidden devices and members. If both are hidden and
/// `room` is too small, only members are named.
fn note(model: &Model, columns: MatrixColumns, shape: MatrixShape, room: u16) -> String {
    if let Some(edit) = &model.edit {
        return words::staged_note(model, edit);
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
        let Some(view) = model.snapshot.member(member) else {
            continue;
        };
        let odd = (member.get() - columns.first) % 2 == 1;
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

/// Returns whether the cursor has a meaning and is shown.
fn selecting(model: &Model) -> bool {
    model.edit.is_some() || model.focus == Panel::Allocation
}

fn device_row(
    inside: &mut Painter<'_>,
    y: u16,
    device: DeviceIndex,
    model: &Model,
    columns: MatrixColumns,
) {
    let Some(view) = model.snapshot.device(device) else {
        return;
    };
    let name = geometry::device_label(view, columns.short);
    let name = format::fit_name(&name, columns.label.saturating_sub(1));
    let role = if view.lost { Role::Gone } else { Role::Text };
    inside.text(0, y, &name, role);
    for member in columns.members() {
        draw_entry(inside, y, Cell { device, member }, model, columns);
    }
    side::draw(inside, y, view, columns);
}

/// Draws an entry in its column.
fn draw_entry(inside: &mut Painter<'_>, y: u16, cell: Cell, model: &Model, columns: MatrixColumns) {
    let end = columns.end(cell.member);
    let (text, role) = entry_text(model, cell);
    inside.text_right(end - 1, y, &text, role);
    let load = model.snapshot.entry(cell).map_or(0.0, |v| v.load);
    let running = model.snapshot.matrix.get(cell).is_some();
    if running && model.edit.is_none() {
        let role = if load < 0.02 { Role::Dim } else { Role::Accent };
        // Zero has no bar; a small value above zero stays visible.
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

/// Returns the batch size, with a sign if it is staged or slowed.
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
    model
        .snapshot
        .entry(cell)
        .is_some_and(|v| v.interfered.is_some())
}

/// Draws a row below a device: the same detail of each of its workers.
fn detail_row(
    inside: &mut Painter<'_>,
    y: u16,
    device: DeviceIndex,
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
        let Some(view) = model.snapshot.entry(cell).filter(|_| running) else {
            continue;
        };
        // The percent sign is under the bar, so that digits align.
        let text = match detail {
            DeviceDetail::Fill if view.fill <= 0.0 => "– ".to_owned(),
            DeviceDetail::Fill => format::percent(view.fill),
            DeviceDetail::Wait => format!("{} ", format::short(view.waiting as f64)),
            DeviceDetail::Load => format::percent(view.load),
        };
        inside.text_right(columns.end(member), y, &text, Role::Dim);
    }
}

/// Draws why the last change was rejected, below the entry (above it in the last row).
fn draw_error(inside: &mut Painter<'_>, row: u16, model: &Model, columns: MatrixColumns) {
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
    // The whole row is used rather than a rest of the device's name.
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
