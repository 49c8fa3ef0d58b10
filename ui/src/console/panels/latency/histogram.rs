//! Bars over a logarithmic axis.

use divisi::metrics::Bucket;
use divisi::session::{LatencyView, Target};

use super::marks;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// The axis: logarithms of microseconds to columns.
#[derive(Clone, Copy)]
pub struct Axis {
    low: f64,
    high: f64,
    width: u16,
}

impl Axis {
    /// Over both distributions and the target, in `width` columns.
    pub fn new(
        now: &LatencyView,
        before: Option<&LatencyView>,
        target: Option<Target>,
        width: u16,
    ) -> Option<Self> {
        let buckets = || {
            now.buckets
                .iter()
                .chain(before.iter().flat_map(|b| &b.buckets))
        };
        let goal = target.map(|t| t.latency.as_micros() as u64);
        let micros = || {
            buckets()
                .map(|b| b.micros)
                .chain(goal)
                .map(|m| m.max(1) as f64)
        };
        buckets().next()?;
        let low = micros().fold(f64::INFINITY, f64::min);
        let high = micros().fold(low, f64::max);
        // A single value still gets an axis around it.
        let (low, high) = (low / 1.5, (high * 1.1).max(low * 2.0));
        Some(Axis { low, high, width })
    }

    /// The microseconds at the left edge of a column.
    fn micros(self, column: u16) -> f64 {
        let share = f64::from(column) / f64::from(self.width.max(1));
        self.low * (self.high / self.low).powf(share)
    }

    /// The column of so many microseconds, where it is on the axis.
    pub fn column(self, micros: f64) -> Option<u16> {
        let share = (micros / self.low).ln() / (self.high / self.low).ln();
        let column = share * f64::from(self.width);
        (column >= 0.0 && column < f64::from(self.width)).then_some(column as u16)
    }

    /// The same, or the end that is nearer.
    pub fn nearest(self, micros: f64) -> u16 {
        let end = if micros < self.low {
            0
        } else {
            self.width.saturating_sub(1)
        };
        self.column(micros).unwrap_or(end)
    }
}

/// One histogram.
pub struct Bars<'a> {
    pub view: &'a LatencyView,
    pub axis: Axis,
    pub target: Option<Target>,
    /// What is written in its corner.
    pub name: &'static str,
}

impl Bars<'_> {
    /// Draws bars, percentiles and the axis, as far as there is room.
    pub fn draw(&self, area: &mut Pen<'_>) {
        let rows = area.height();
        let marked = rows >= 4;
        let height = rows.saturating_sub(1 + u16::from(marked));
        if height == 0 {
            return;
        }
        self.columns(area, height);
        self.goal(area, height);
        area.text(1, 0, self.name, Role::Dim);
        if marked {
            marks::draw(area, height, self.axis, &self.view.summary);
        }
        marks::ticks(area, rows - 1, self.axis);
    }

    fn columns(&self, area: &mut Pen<'_>, height: u16) {
        let buckets = &self.view.buckets;
        let most = buckets.iter().map(|b| b.count).max().unwrap_or(1).max(1);
        let slow = self.view.summary.p99 as f64;
        for x in 0..self.axis.width {
            let (from, to) = (self.axis.micros(x), self.axis.micros(x + 1));
            let share = tallest(buckets, from, to) as f64 / most as f64;
            // The slowest hundredth stands out.
            let role = if from >= slow {
                Role::Warn
            } else {
                Role::Accent
            };
            area.column(1 + x, height - 1, height, share, role);
        }
    }

    /// A line at the target, through the bars too.
    fn goal(&self, area: &mut Pen<'_>, height: u16) {
        let Some(target) = self.target else {
            return;
        };
        let micros = target.latency.as_micros() as f64;
        let Some(x) = self.axis.column(micros) else {
            return;
        };
        for y in 0..height {
            area.sign(1 + x, y, "┆", Role::Strong);
        }
    }
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
