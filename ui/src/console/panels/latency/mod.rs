//! The distribution of latencies on a logarithmic axis, its percentiles, and where the
//! time went.

mod histogram;
mod split;

use divisi::metrics::LatencySummary;

use super::framed;
use crate::console::format;
use crate::console::model::{Model, Panel};
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// Columns for the names of the table's rows.
const LABEL: u16 = 3;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    let mut inside = framed(pen, Panel::Latency, "ms, request to answer", model);
    let latency = &model.snapshot.latency;
    if latency.summary.count == 0 {
        inside.text(1, 0, "no answers yet", Role::Dim);
        return;
    }
    let y = table(&mut inside, model);
    // Two rows at least are the histogram's.
    let room = inside.height().saturating_sub(y + 2);
    let y = y + split::draw(&mut inside, y, room, &latency.split);
    let height = inside.height().saturating_sub(y + 1);
    if height > 0 {
        let (buckets, p99) = (&latency.buckets, latency.summary.p99);
        histogram::draw(&mut inside, y, height, buckets, p99);
    }
}

/// One line of percentiles, for screens without the panel.
pub fn draw_line(pen: &mut Pen<'_>, model: &Model) {
    let summary = &model.snapshot.latency.summary;
    let pairs = [
        ("p50", summary.p50),
        ("p90", summary.p90),
        ("p99", summary.p99),
    ];
    let mut x = 1;
    for (name, micros) in pairs {
        let value = format!(" {:<5}", format::millis(micros));
        x = pen.pieces(x, 0, &[(name, Role::Dim), (&value, Role::Strong)]);
    }
    let last = format!("p99.9 {} ms", format::millis(summary.p999));
    if x + format::width(&last) <= pen.width() {
        pen.pieces(x, 0, &[(&last, Role::Dim)]);
    } else {
        pen.text(x, 0, "ms", Role::Dim);
    }
}

/// Percentiles now, and before the last reload where there was one.
fn table(inside: &mut Pen<'_>, model: &Model) -> u16 {
    let column = (inside.width().saturating_sub(LABEL + 1) / 4).clamp(5, 9);
    for (i, name) in ["p50", "p90", "p99", "p99.9"].iter().enumerate() {
        inside.text_right(end(i, column), 0, name, Role::Dim);
    }
    row(
        inside,
        1,
        "now",
        &model.snapshot.latency.summary,
        column,
        Role::Strong,
    );
    let Some(before) = model
        .snapshot
        .latency_before
        .as_ref()
        .map(|before| &before.summary)
        .filter(|b| b.count > 0)
    else {
        return 2;
    };
    row(inside, 2, "was", before, column, Role::Dim);
    3
}

fn row(
    inside: &mut Pen<'_>,
    y: u16,
    name: &str,
    summary: &LatencySummary,
    column: u16,
    role: Role,
) {
    inside.text(0, y, name, Role::Dim);
    let values = [summary.p50, summary.p90, summary.p99, summary.p999];
    for (i, micros) in values.into_iter().enumerate() {
        inside.text_right(end(i, column), y, &format::millis(micros), role);
    }
}

/// The last column is one wider: its name is the longest.
fn end(place: usize, column: u16) -> u16 {
    LABEL + column * (place as u16 + 1) + u16::from(place == 3)
}
