//! The distribution of latencies on a logarithmic axis, and its percentiles.

use divisi::metrics::{Bucket, LatencySummary};

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
    let height = inside.height().saturating_sub(y + 1);
    if height > 0 {
        histogram(
            &mut inside,
            y,
            height,
            &latency.buckets,
            latency.summary.p99,
        );
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

/// The axis: logarithms of microseconds to columns.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    width: u16,
}

impl Axis {
    fn new(buckets: &[Bucket], width: u16) -> Option<Self> {
        let low = buckets.first()?.micros.max(1) as f64;
        let high = buckets.last()?.micros.max(1) as f64;
        // A single value still gets an axis around it.
        let (low, high) = (low / 1.5, high.max(low * 2.0));
        Some(Axis { low, high, width })
    }

    /// The microseconds at the left edge of a column.
    fn micros(self, column: u16) -> f64 {
        let share = f64::from(column) / f64::from(self.width.max(1));
        self.low * (self.high / self.low).powf(share)
    }

    fn column(self, micros: f64) -> Option<u16> {
        let share = (micros / self.low).ln() / (self.high / self.low).ln();
        let column = share * f64::from(self.width);
        (column >= 0.0 && column < f64::from(self.width)).then_some(column as u16)
    }
}

fn histogram(inside: &mut Pen<'_>, y: u16, height: u16, buckets: &[Bucket], p99: u64) {
    let width = inside.width().saturating_sub(2);
    let Some(axis) = Axis::new(buckets, width) else {
        return;
    };
    let most = buckets.iter().map(|b| b.count).max().unwrap_or(1).max(1);
    let bottom = y + height - 1;
    for x in 0..width {
        let (from, to) = (axis.micros(x), axis.micros(x + 1));
        let share = tallest(buckets, from, to) as f64 / most as f64;
        // The slowest hundredth stands out.
        let role = if from >= p99 as f64 {
            Role::Warn
        } else {
            Role::Accent
        };
        inside.column(1 + x, bottom, height, share, role);
    }
    ticks(inside, y + height, axis);
}

/// The highest bar over a part of the axis; a bar reaches down to the one before it.
fn tallest(buckets: &[Bucket], from: f64, to: f64) -> u64 {
    let mut below = 0.0;
    let mut most = 0;
    for bucket in buckets {
        let upper = bucket.micros as f64;
        if upper > from && below < to {
            most = most.max(bucket.count);
        }
        below = upper;
    }
    most
}

/// 1, 2 and 5 of each decade, where there is room, and the unit at the end.
fn ticks(inside: &mut Pen<'_>, y: u16, axis: Axis) {
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
