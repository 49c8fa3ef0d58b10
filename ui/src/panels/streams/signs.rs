//! What steps look like, and the legend that says so.

use divisi::trace::SpanKind;

use crate::look::{EIGHTHS, Painter, Role};
use crate::text::format;
use crate::view::timeline::CellMark;

/// Sign and role of a step.
pub(super) fn of_kind(kind: SpanKind) -> (&'static str, Role) {
    match kind {
        SpanKind::Wait => ("░", Role::Wait),
        SpanKind::CopyIn | SpanKind::CopyAhead => ("▒", Role::Copy),
        SpanKind::Compute => ("█", Role::Compute),
        SpanKind::CopyOut => ("▞", Role::CopyOut),
        SpanKind::Send => ("▓", Role::Send),
    }
}

/// Sign and role of a cell. Where batches are shorter than a cell, what computes is as
/// high as its share of the time; signs of ASCII have no heights.
pub(super) fn of_mark(mark: CellMark, ascii: bool) -> Option<(&'static str, Role)> {
    let (sign, role) = of_kind(mark.kind?);
    match (role, mark.eighths) {
        (Role::Compute, Some(eighths)) if !ascii => {
            Some((EIGHTHS[usize::from(eighths)], Role::Compute))
        }
        (Role::Compute, _) if mark.other => Some((sign, Role::ComputeOther)),
        _ => Some((sign, role)),
    }
}

const LONG: [(&str, Role); 10] = [
    (" ░", Role::Wait),
    (" wait ", Role::Dim),
    (" ▒", Role::Copy),
    (" copy in ", Role::Dim),
    (" █", Role::Compute),
    (" compute ", Role::Dim),
    (" ▞", Role::CopyOut),
    (" copy out ", Role::Dim),
    (" ▓", Role::Send),
    (" send ", Role::Dim),
];

const SHORT: [(&str, Role); 10] = [
    (" ░", Role::Wait),
    (" wait", Role::Dim),
    (" ▒", Role::Copy),
    (" in", Role::Dim),
    (" █", Role::Compute),
    (" compute", Role::Dim),
    (" ▞", Role::CopyOut),
    (" out", Role::Dim),
    (" ▓", Role::Send),
    (" send ", Role::Dim),
];

/// The legend for a panel of a width, and how wide it is.
fn legend(width: u16) -> (&'static [(&'static str, Role)], u16) {
    let legend: &[_] = if width < 120 { &SHORT } else { &LONG };
    (legend, legend.iter().map(|p| format::width(p.0)).sum())
}

/// Columns left beside the panel's name and the legend, where there is room for one.
pub(super) fn note_room(width: u16) -> u16 {
    let legend = if width < 72 { 0 } else { legend(width).1 };
    width.saturating_sub(legend + 20)
}

/// Draws the legend in the frame's upper line, beside a title of width `title`.
pub(super) fn draw_legend(pen: &mut Painter<'_>, title: u16) {
    let (legend, width) = legend(pen.width());
    if title + width + 3 <= pen.width() {
        pen.pieces(pen.width() - width - 3, 0, legend);
    }
}
