//! How a GPU is doing, as its driver says: beside the rows under its own, and in words.

use divisi::device::gpu::Gauges;
use divisi::session::{DeviceView, GpuView};

use super::columns::{MatrixColumns, Side};
use crate::look::{Painter, Role};
use crate::text::{format, gpu};

type StyledLine = (String, Role);

/// Row number `row` under a device, at the right of the matrix.
pub(super) fn draw(
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
fn lines(view: &GpuView, side: Side) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let now = match side {
        Side::Wide => gpu::pulse(&view.gauges).join(" · "),
        Side::Middle => tight(&view.gauges).join(" "),
        Side::Narrow => tight(&view.gauges)[1..].join(" "),
    };
    lines.push((now.trim().to_owned(), Role::Dim));
    lines.extend(gpu::others(view).map(|text| (text, Role::Warn)));
    if side == Side::Wide {
        lines.extend(gpu::memory(view).map(|text| (text, Role::Dim)));
    }
    lines.retain(|(text, _)| !text.is_empty());
    lines
}

/// The same in few columns, all three of them.
fn tight(gauges: &Gauges) -> [String; 3] {
    let busy = gauges.busy.map(format::percent);
    let warm = gauges.temperature.map(|t| format!("{t}°C"));
    let power = gauges.power.map(|w| format!("{w:.0}W"));
    [busy, warm, power].map(Option::unwrap_or_default)
}
