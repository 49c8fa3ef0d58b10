//! The target, and how many requests miss it.

use divisi::session::{Distribution, LatencyView, Target};

use crate::look::{Painter, Role};
use crate::text::format;

/// `target ┆ 5.00 ms · missed 1.8% ✗ of 1.0% allowed · since 2.1% · before 4.0%`. What is
/// missed is of the window; where nothing was answered in it, since the reload.
pub(super) fn draw(
    inside: &mut Painter<'_>,
    y: u16,
    target: Target,
    view: &LatencyView,
    before: Option<&Distribution>,
) {
    let latency = format::millis(target.latency.as_micros() as u64);
    let asked = format!("target ┆ {latency} ms · ");
    let x = inside.text(0, y, &asked, Role::Dim);
    let Some(missed) = view.now.missed.or(view.since.missed) else {
        inside.text(x, y, "share missed not known yet", Role::Dim);
        return;
    };
    let met = missed <= 1.0 - target.share + 1e-9;
    let (sign, role) = if met {
        ("✓", Role::Good)
    } else {
        ("✗", Role::Bad)
    };
    let share = format::permille(missed);
    let pieces = [
        ("missed ", Role::Dim),
        (share.trim(), role),
        (" ", role),
        (sign, role),
    ];
    let mut x = inside.pieces(x, y, &pieces);
    let said = |name: &str, share: Option<f64>| {
        share.map(|m| format!(" · {name} {}", format::permille(m).trim()))
    };
    let allowed = format::permille(1.0 - target.share);
    let rest = [
        Some(format!(" of {} allowed", allowed.trim())),
        said(
            "since",
            view.since.missed.filter(|_| view.now.missed.is_some()),
        ),
        said("before", before.and_then(|b| b.missed)),
    ];
    for text in rest.into_iter().flatten() {
        if x + format::width(&text) <= inside.width() {
            x = inside.text(x, y, &text, Role::Dim);
        }
    }
}
