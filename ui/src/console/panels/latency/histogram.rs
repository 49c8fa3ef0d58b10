//! Bars over a logarithmic axis.

use divisi::metrics::Bucket;

use crate::console::format;
use crate::console::pen::Pen;
use crate::console::theme::Role;

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

/// Draws the bars in `height` rows and the axis under them.
pub fn draw(inside: &mut Pen<'_>, y: u16, height: u16, buckets: &[Bucket], p99: u64) {
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
