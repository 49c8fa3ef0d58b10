//! The matrix: devices × members, with the load of each entry; also during editing.

mod geometry;
mod groups;
mod names;
mod precisions;
mod side;
mod words;

use divisi_model::allocation::Cell;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use ratatui::layout::{Position, Rect};

use super::body::PanelBody;
use super::frame::{edges, finding, headed};
use crate::layout::Panel;
use crate::look::{Painter, Role, bar};
use crate::model::{MemberSigns, Model};
use crate::text::format;
use geometry::{DETAILS, DeviceDetail, MatrixColumns, MatrixShape, rows_needed};

/// The panel.
pub(super) static PANEL: PanelBody = PanelBody {
    least_width: geometry::least_width,
    height: |model, all| {
        let devices = u16::try_from(model.snapshot.devices.len()).unwrap_or(u16::MAX);
        // Staged changes and their effects need more room than remarks.
        let (words, most) = match model.edit {
            Some(_) => (10, all * 3 / 5),
            None => (7, all * 2 / 5),
        };
        let least = devices.saturating_add(words).clamp(7, most.max(7));
        (least, rows_needed(model).max(least))
    },
    ..PanelBody::new(draw)
};

/// Draws the panel.
fn draw(painter: &mut Painter<'_>, model: &Model) {
    let columns = MatrixColumns::new(model, painter.width().saturating_sub(2));
    let shape = MatrixShape::new(
        model,
        columns,
        painter.height().saturating_sub(edges(model)),
    );
    let note = note(model, columns, shape, painter.width().saturating_sub(21));
    let mut inside = headed(painter, Panel::Allocation, &note, model);
    names::draw(&mut inside, model, columns, shape);
    groups::draw(&mut inside, model, shape, columns);
    for row in 0..shape.devices {
        let device = DeviceIndex::new(shape.first + usize::from(row));
        let y = shape.first_row() + row * shape.each();
        device_row(&mut inside, y, device, model, columns);
        graph(&mut inside, y, shape.each(), device, model, columns);
        for (i, detail) in DETAILS.iter().take(usize::from(shape.details)).enumerate() {
            let y = y + 1 + i as u16;
            detail_row(&mut inside, y, device, *detail, model, columns);
            if let Some(view) = model.snapshot.device(device) {
                side::draw_gauges(&mut inside, y, i, view, columns);
            }
        }
    }
    light_culprit(&mut inside, model, columns, shape);
    words::draw(&mut inside, shape.end_row(), model, columns);
    let row = model.cursor.device.get().saturating_sub(shape.first) as u16;
    let at = shape.first_row() + row * shape.each();
    draw_error(&mut inside, at, model, columns);
    draw_busiest(painter, model);
}

/// Names the device that limits the others, and the member that uses it most.
fn draw_busiest(painter: &mut Painter<'_>, model: &Model) {
    let shown = &model.snapshot;
    let devices = DeviceIndex::enumerate(&shown.devices);
    let there = devices.filter(|(_, device)| !device.lost && device.busy > 0.0);
    let Some((at, device)) = there.max_by(|one, other| one.1.busy.total_cmp(&other.1.busy)) else {
        return;
    };
    let busy = format::percent(device.busy);
    let limit = format!("busiest: {} {} (1 s)", device.name, busy.trim());
    let here = MemberIndex::enumerate(&shown.members).filter_map(|(member, view)| {
        let entry = shown.entry(Cell { device: at, member })?;
        Some((member, view, entry.load))
    });
    let most = here.max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((member, view, _)) = most.filter(|most| most.2 > 0.0) else {
        return finding(painter, &[(&limit, Role::Dim)], model);
    };
    let name = format!("{} {}", model.signs.letter(member), view.name);
    let pieces = [
        (&limit[..], Role::Dim),
        (", mostly ", Role::Dim),
        (&name, MemberSigns::hue(member)),
    ];
    finding(painter, &pieces, model);
}

/// Returns the entry at a place of the screen, for the panel in `area`.
pub(crate) fn cell_at(model: &Model, area: Rect, at: Position) -> Option<Cell> {
    let columns = MatrixColumns::new(model, area.width.saturating_sub(2));
    let shape = MatrixShape::new(model, columns, area.height.saturating_sub(edges(model)));
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

/// Draws the load of a device over the last seconds, in all rows of the device or below its
/// figures.
fn graph(
    inside: &mut Painter<'_>,
    y: u16,
    rows: u16,
    device: DeviceIndex,
    model: &Model,
    columns: MatrixColumns,
) {
    let is_gpu = model
        .snapshot
        .device(device)
        .is_some_and(|view| view.gpu.is_some());
    let (start, width, height) = match columns.graph {
        // Below the figures of the device, unless the gauges of a GPU are there.
        0 if is_gpu || rows < 4 => return,
        0 => {
            let start = columns.side_start() + 2;
            inside.text(start, y + 1, "busy 60 s", Role::Dim);
            (start, columns.side.width().saturating_sub(2), rows - 2)
        }
        width => (columns.graph_start(), width, rows),
    };
    let busy = model.trends.busy(device);
    let shown = busy.len().min(usize::from(width));
    let first = (start + width).saturating_sub(shown as u16);
    for (x, share) in (first..).zip(&busy[busy.len() - shown..]) {
        let share = f64::from(*share);
        inside.column(x, y + rows - 1, height, share, Role::for_load(share));
    }
}

/// Dims all rows and columns but those of an incident's culprit.
fn light_culprit(
    inside: &mut Painter<'_>,
    model: &Model,
    columns: MatrixColumns,
    shape: MatrixShape,
) {
    let Some(culprit) = model.culprit().filter(|_| model.edit.is_none()) else {
        return;
    };
    for row in 0..shape.devices {
        let device = DeviceIndex::new(shape.first + usize::from(row));
        let y = shape.first_row() + row * shape.each();
        if !culprit.has(device, None) {
            let width = inside.width();
            (y..y + shape.each()).for_each(|y| inside.restyle(0, y, width, Role::Dim));
            continue;
        }
        if culprit.device.is_some() {
            inside.restyle(0, y, columns.label.saturating_sub(1), Role::Bad);
        }
        for member in columns.members().filter(|m| !culprit.has(device, Some(*m))) {
            let x = columns.end(member).saturating_sub(columns.cell);
            (y..y + shape.each()).for_each(|y| inside.restyle(x, y, columns.cell, Role::Dim));
        }
    }
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
        let role = match load < 0.02 {
            true => Role::Dim,
            false => MemberSigns::hue(cell.member),
        };
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
