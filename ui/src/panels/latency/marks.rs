//! Where the percentiles lie on the axis: a sign each, and its name where there is room.

use divisi::metrics::LatencySummary;

use super::histogram::LatencyAxis;
use crate::look::{Painter, Role};
use crate::text::format;

/// The shares that lie below them; the longest is there from the first on.
const SHARES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.0];

/// Draws them in one row; those of which too few requests tell are dim.
pub(super) fn draw(inside: &mut Painter<'_>, y: u16, axis: LatencyAxis, summary: &LatencySummary) {
    let s = summary;
    let marks = [
        ("p50", s.p50),
        ("p90", s.p90),
        ("p99", s.p99),
        ("p99.9", s.p999),
        ("max", s.max),
    ];
    let places = marks.map(|(name, micros)| (name, 1 + axis.nearest(micros as f64)));
    for (i, (name, x)) in places.iter().enumerate() {
        let told = summary.is_enough_for(SHARES[i]);
        inside.sign(*x, y, "▴", if told { Role::Accent } else { Role::Dim });
        let next = places.get(i + 1).map_or(inside.width(), |p| p.1);
        let before = i
            .checked_sub(1)
            .and_then(|b| places.get(b))
            .map_or(0, |p| p.1);
        let short = name.trim_start_matches('p');
        for name in [*name, short] {
            if x + 1 + format::width(name) <= next {
                inside.text(x + 1, y, name, Role::Dim);
                break;
            }
            // At the right end there may be room on the other side.
            let from = x.saturating_sub(format::width(name));
            if i + 1 == places.len() && from > before + 6 {
                inside.text(from, y, name, Role::Dim);
                break;
            }
        }
    }
}

/// 1, 2 and 5 of each decade, where there is room, and the unit at the end.
pub(super) fn ticks(inside: &mut Painter<'_>, y: u16, axis: LatencyAxis) {
    let end = inside.width().saturating_sub(4);
    inside.text_right(inside.width().saturating_sub(1), y, "ms", Role::Dim);
    let mut free = 0;
    for decade in 0..9 {
        for step in [1.0, 2.0, 5.0] {
            let micros = step * 10f64.powi(decade);
            let Some(column) = axis.column(micros) else {
                continue;
            };
            let text = format!("{}", micros / 1e3);
            let x = (1 + column).saturating_sub(format::width(&text) / 2);
            if x >= free && x + format::width(&text) < end {
                free = inside.text(x, y, &text, Role::Dim) + 2;
            }
        }
    }
}
