//! The state of a device at the right of its row: load and memory, or lost; below it the gauges of
//! a GPU from its driver.

use divisi_runtime::device::gpu::Gauges;
use divisi_session::{DeviceView, GpuView};

use super::geometry::{MatrixColumns, Side};
use super::words::StyledText;
use crate::look::{Painter, Role};
use crate::text::{format, status};

/// Draws the names of the columns.
pub(super) fn names(inside: &mut Painter<'_>, y: u16, columns: MatrixColumns) {
    let x = columns.side_start();
    match columns.side {
        Side::Narrow => inside.text(x, y, " busy  mem", Role::Dim),
        Side::Middle => inside.text(x, y, "  busy copy  mem", Role::Dim),
        Side::Wide => {
            inside.text_right(x + 20, y, "copy", Role::Dim);
            inside.text_right(x + 31, y, "memory", Role::Dim);
            inside.text_right(x + 41, y, "of", Role::Dim);
            inside.text(x + 2, y, "busy", Role::Dim)
        }
    };
}

/// Draws one device.
pub(super) fn draw(inside: &mut Painter<'_>, y: u16, view: &DeviceView, columns: MatrixColumns) {
    let x = columns.side_start();
    match columns.side {
        _ if view.lost => lost(inside, y, x),
        Side::Narrow | Side::Middle => narrow(inside, y, view, x, columns.side),
        Side::Wide => wide(inside, y, view, x + 2),
    }
}

fn lost(inside: &mut Painter<'_>, y: u16, x: u16) {
    inside.text(x + 1, y, "✗ lost", Role::Bad);
}

fn memory_share(view: &DeviceView) -> f64 {
    match view.memory_bytes {
        0 => 0.0,
        size => view.memory_booked as f64 / size as f64,
    }
}

fn busy_role(view: &DeviceView) -> Role {
    if view.busy > 0.95 {
        Role::Warn
    } else {
        Role::Text
    }
}

/// Returns a warning if copying takes longer than computing, since it slows the device down.
fn copy_role(view: &DeviceView) -> Role {
    if view.copying > view.busy && view.copying > 0.05 {
        Role::Warn
    } else {
        Role::Text
    }
}

fn memory_role(view: &DeviceView) -> Role {
    if memory_share(view) > 0.95 {
        Role::Warn
    } else {
        Role::Text
    }
}

fn narrow(inside: &mut Painter<'_>, y: u16, view: &DeviceView, x: u16, side: Side) {
    let x = x + u16::from(side == Side::Middle);
    let mut x = inside.text(x + 1, y, &format::percent(view.busy), busy_role(view));
    if side == Side::Middle {
        x = inside.text(x + 1, y, &format::percent(view.copying), copy_role(view));
    }
    // Shown once, at the first device of the memory space.
    match view.shares_memory_of {
        None => inside.text(
            x + 1,
            y,
            &format::percent(memory_share(view)),
            memory_role(view),
        ),
        Some(_) => inside.text(x + 1, y, "   ″", Role::Dim),
    };
}

fn wide(inside: &mut Painter<'_>, y: u16, view: &DeviceView, x: u16) {
    inside.meter(x, y, 8, view.busy, Role::Accent);
    inside.text(x + 9, y, &format::percent(view.busy), busy_role(view));
    inside.text(x + 14, y, &format::percent(view.copying), copy_role(view));
    if view.shares_memory_of.is_some() {
        inside.text_right(x + 29, y, "″", Role::Dim);
        inside.text_right(x + 39, y, "shared", Role::Dim);
        return;
    }
    let booked = format::bytes(view.memory_booked);
    inside.text_right(x + 29, y, &booked, memory_role(view));
    inside.text_right(x + 39, y, &format::bytes(view.memory_bytes), Role::Dim);
}

/// Draws row number `row` below a device, at the right of the matrix.
pub(super) fn draw_gauges(
    inside: &mut Painter<'_>,
    y: u16,
    row: usize,
    view: &DeviceView,
    columns: MatrixColumns,
) {
    let Some(gpu) = view.gpu.as_ref().filter(|_| !view.lost) else {
        return;
    };
    let indent = match columns.side {
        Side::Narrow => 1,
        Side::Middle | Side::Wide => 2,
    };
    if let Some((text, role)) = lines(gpu, columns.side).into_iter().nth(row) {
        let room = columns.side.width().saturating_sub(indent);
        let text = format::fit(&text, room);
        inside.text(columns.side_start() + indent, y, &text, role);
    }
}

/// Returns the gauges, the most important first, since rows are cut from the last.
fn lines(view: &GpuView, side: Side) -> Vec<StyledText> {
    let mut lines = Vec::new();
    let now = match side {
        Side::Wide => status::gpu_pulse(&view.gauges).join(" · "),
        Side::Middle => tight(&view.gauges).join(" "),
        Side::Narrow => tight(&view.gauges)[1..].join(" "),
    };
    lines.push((now.trim().to_owned(), Role::Dim));
    lines.extend(status::gpu_others(&view.gauges).map(|text| (text, Role::Warn)));
    if side == Side::Wide {
        lines.extend(status::gpu_memory(view).map(|text| (text, Role::Dim)));
    }
    lines.retain(|(text, _)| !text.is_empty());
    lines
}

/// Returns all three gauges in few columns.
fn tight(gauges: &Gauges) -> [String; 3] {
    let busy = gauges.busy.map(format::percent);
    let warm = gauges.temperature.map(|t| format!("{t}°C"));
    let power = gauges.power.map(|w| format!("{w:.0}W"));
    [busy, warm, power].map(Option::unwrap_or_default)
}
