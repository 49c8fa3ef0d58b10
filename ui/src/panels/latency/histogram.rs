//! Bars over a logarithmic axis, with the places of the percentiles.

use std::ops::Range;

use divisi_model::metrics::{Bucket, LatencySummary};
use divisi_session::{Distribution, Target};

use crate::look::{Painter, Role};
use crate::text::format;

/// The axis, which maps logarithms of microseconds to columns.
#[derive(Clone, Copy)]
pub(super) struct LatencyAxis {
    low: f64,
    high: f64,
    width: u16,
}

impl LatencyAxis {
    /// Creates an axis for both distributions and the target, in `width` columns.
    pub(super) fn new(
        now: &Distribution,
        before: Option<&Distribution>,
        target: Option<Target>,
        width: u16,
    ) -> Option<Self> {
        let buckets = || {
            now.buckets
                .iter()
                .chain(before.iter().flat_map(|b| &b.buckets))
        };
        let goal = target.map(|t| t.latency.as_micros() as u64);
        let edges = || buckets().flat_map(|b| [b.from, b.micros]);
        let micros = || edges().chain(goal).map(|m| m.max(1) as f64);
        buckets().next()?;
        let low = micros().fold(f64::INFINITY, f64::min);
        let high = micros().fold(low, f64::max);
        // A single value also gets an axis around it.
        let (low, high) = (low / 1.2, (high * 1.1).max(low * 2.0));
        Some(LatencyAxis { low, high, width })
    }

    /// Returns the place of a latency in columns.
    fn place(self, micros: f64) -> f64 {
        let share = (micros / self.low).ln() / (self.high / self.low).ln();
        share * f64::from(self.width)
    }

    /// Returns the columns of a bar. Adjacent bars share none, and a narrow bar has at least one.
    fn columns(self, bar: &Bucket) -> Range<u16> {
        let round = |micros: u64| {
            let place = self.place(micros.max(1) as f64).round();
            place.clamp(0.0, f64::from(self.width)) as u16
        };
        let from = round(bar.from).min(self.width.saturating_sub(1));
        from..round(bar.micros).max(from + 1)
    }

    /// Returns the column of a latency, if it is on the axis.
    pub(super) fn column(self, micros: f64) -> Option<u16> {
        let column = self.place(micros);
        (column >= 0.0 && column < f64::from(self.width)).then_some(column as u16)
    }

    /// Returns the column of a latency, or the nearest end of the axis.
    fn nearest(self, micros: f64) -> u16 {
        let end = if micros < self.low {
            0
        } else {
            self.width.saturating_sub(1)
        };
        self.column(micros).unwrap_or(end)
    }
}

/// A histogram.
pub(super) struct HistogramBars<'a> {
    pub view: &'a Distribution,
    pub axis: LatencyAxis,
    pub target: Option<Target>,
    /// The label in its corner.
    pub name: &'a str,
}

impl HistogramBars<'_> {
    /// Draws bars, percentiles and the axis, as far as there is room.
    pub(super) fn draw(&self, area: &mut Painter<'_>) {
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
            draw_marks(area, height, self.axis, &self.view.summary);
        }
        draw_ticks(area, rows - 1, self.axis);
    }

    fn columns(&self, area: &mut Painter<'_>, height: u16) {
        let buckets = &self.view.buckets;
        let most = buckets.iter().map(|b| b.count).max().unwrap_or(1).max(1);
        let mut columns = vec![(0, Role::Accent); usize::from(self.axis.width)];
        for bar in buckets {
            for x in self.axis.columns(bar).map(usize::from) {
                if let Some(column) = columns.get_mut(x).filter(|c| c.0 <= bar.count) {
                    *column = (bar.count, self.role(bar));
                }
            }
        }
        for (x, (count, role)) in (0..).zip(columns) {
            let share = count as f64 / most as f64;
            area.column(1 + x, height - 1, height, share, role);
        }
    }

    /// Returns the role of a bar: the slowest hundredth is emphasised.
    fn role(&self, bar: &Bucket) -> Role {
        match bar.from >= self.view.summary.p99 {
            true => Role::Warn,
            false => Role::Accent,
        }
    }

    /// Draws a line at the target, also through the bars.
    fn goal(&self, area: &mut Painter<'_>, height: u16) {
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

/// The shares of requests below p50, p90, p99, p99.9 and the maximum, which exists from the first
/// request on.
pub(super) const SHARES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.0];

/// Draws the percentiles in one row; those of too few requests are dimmed.
fn draw_marks(inside: &mut Painter<'_>, y: u16, axis: LatencyAxis, summary: &LatencySummary) {
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
            // At the right end, the name may fit on the other side.
            let from = x.saturating_sub(format::width(name));
            if i + 1 == places.len() && from > before + 6 {
                inside.text(from, y, name, Role::Dim);
                break;
            }
        }
    }
}

/// Draws 1, 2 and 5 of each decade, as far as there is room, and the unit at the end.
fn draw_ticks(inside: &mut Painter<'_>, y: u16, axis: LatencyAxis) {
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
