//! How a GPU is doing, as its driver says: beside the rows under its own, and in words.

use divisi::device::gpu::Gauges;
use divisi::session::{DeviceView, GpuView};

use super::columns::{MatrixColumns, Side};
use crate::console::format;
use crate::console::painter::Painter;
use crate::console::theme::Role;

type StyledLine = (String, Role);

/// Row number `row` under a device, at the right of the matrix.
pub fn draw(
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

/// The weightier first: rows go from the last.
fn lines(gpu: &GpuView, side: Side) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let now = match side {
        Side::Wide => pulse(&gpu.gauges).join(" · "),
        Side::Middle => tight(&gpu.gauges).join(" "),
        Side::Narrow => tight(&gpu.gauges)[1..].join(" "),
    };
    lines.push((now.trim().to_owned(), Role::Dim));
    lines.extend(others(gpu).map(|text| (text, Role::Warn)));
    if side == Side::Wide {
        lines.extend(memory(gpu).map(|text| (text, Role::Dim)));
    }
    lines.retain(|(text, _)| !text.is_empty());
    lines
}

/// Busy, temperature, power; what is not known is left out.
fn pulse(gauges: &Gauges) -> Vec<String> {
    let busy = gauges
        .busy
        .map(|b| format!("driver {}", format::percent(b)));
    let warm = gauges.temperature.map(|t| format!("{t} °C"));
    let power = gauges.power.map(|w| format!("{w:.0} W"));
    [busy, warm, power].into_iter().flatten().collect()
}

/// The same in few columns, all three of them.
fn tight(gauges: &Gauges) -> [String; 3] {
    let busy = gauges.busy.map(format::percent);
    let warm = gauges.temperature.map(|t| format!("{t}°C"));
    let power = gauges.power.map(|w| format!("{w:.0}W"));
    [busy, warm, power].map(Option::unwrap_or_default)
}

fn others(gpu: &GpuView) -> Option<String> {
    let bytes = gpu.others()?;
    Some(format!("others {}", format::bytes(bytes).trim()))
}

/// What the driver counts beside what is booked.
fn memory(gpu: &GpuView) -> Option<String> {
    let here = gpu
        .used
        .map(|b| format!("{} here", format::bytes(b).trim()));
    let all = gpu.gauges.memory_used;
    let all = all.map(|b| format!("in use {}", format::bytes(b).trim()));
    match (all, here) {
        (Some(all), Some(here)) => Some(format!("{all}, {here}")),
        (all, here) => all.or(here),
    }
}

/// All of it in words, for one line.
pub fn words(gpu: &GpuView) -> Vec<String> {
    let (major, minor) = gpu.capability;
    let mut words: Vec<String> = others(gpu).into_iter().collect();
    words.extend(pulse(&gpu.gauges).into_iter().map(|w| w.replace("  ", " ")));
    words.extend(memory(gpu));
    words.push(gpu.model.clone());
    words.push(format!("compute {major}.{minor}"));
    words
}
