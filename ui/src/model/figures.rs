//! Numbers that are compared from scene to scene.

use std::time::Duration;

use divisi::session::{Counters, LoadPattern, Snapshot};

use super::estimate::{CounterLook, Estimate};
use crate::text::format;

/// A figure that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Samples a second since the watch began.
    Throughput,
    /// The same for each device that has a worker.
    PerDevice,
    P50,
    P99,
    /// Requests that failed or were refused since they are counted.
    Lost,
}

/// A figure that was taken.
#[derive(Clone, Debug)]
pub struct FigureNote {
    pub scene: usize,
    pub figure: Figure,
    pub name: &'static str,
    pub measured: Estimate,
    /// How long it was measured.
    pub over: Duration,
    /// Requests that it was taken from.
    pub requests: u64,
}

impl FigureNote {
    /// Its figure as it is written.
    pub fn text(&self) -> String {
        self.figure.text(self.measured.value)
    }

    /// Rates are taken at full load in every scene; latencies only say something beside
    /// those under the same load.
    pub fn stands_by(&self, scene: usize) -> bool {
        matches!(self.figure, Figure::Throughput | Figure::PerDevice) || self.scene == scene
    }
}

impl Figure {
    /// Its name with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Throughput => "samples/s",
            Figure::PerDevice => "samples/s a device",
            Figure::P50 => "p50 ms",
            Figure::P99 => "p99 ms",
            Figure::Lost => "requests lost",
        }
    }

    /// As it is written.
    pub fn text(self, value: f64) -> String {
        match self {
            Figure::P50 | Figure::P99 => format::millis(value as u64),
            Figure::PerDevice if value < 100.0 => format!("{value:.1}"),
            _ => format::grouped(value.max(0.0).round() as u64),
        }
    }

    /// Its value now; none while there is nothing to take it from.
    pub fn of(
        self,
        looks: &[CounterLook],
        began: Option<&Counters>,
        shown: &Snapshot,
    ) -> Option<Estimate> {
        let latency = &shown.latency.since;
        let answered = (latency.summary.count > 0).then_some(latency.summary);
        let quantile =
            |value: u64, share| Estimate::quantile(value as f64, share, &latency.buckets);
        match self {
            Figure::Throughput => rate(looks, shown),
            Figure::PerDevice => Some(rate(looks, shown)?.times(1.0 / devices(shown))),
            Figure::P50 => answered.map(|l| quantile(l.p50, 0.5)),
            Figure::P99 => answered.map(|l| quantile(l.p99, 0.99)),
            Figure::Lost => {
                let began = began?;
                let lost = |c: &Counters| c.failed + c.refused + c.cancelled;
                let lost = lost(&shown.counters).saturating_sub(lost(began));
                Some(Estimate::exactly(lost as f64))
            }
        }
    }
}

/// Samples a second over `looks`.
pub(crate) fn rate(looks: &[CounterLook], shown: &Snapshot) -> Option<Estimate> {
    let each = match shown.load.pattern {
        Some(LoadPattern::Closed { samples, .. }) => samples.count() as f64,
        _ => 1.0,
    };
    Some(Estimate::rate(looks)?.times(each))
}

fn devices(shown: &Snapshot) -> f64 {
    let rows = shown.matrix.rows();
    let used = rows.iter().filter(|row| row.iter().any(|size| *size > 0));
    used.count().max(1) as f64
}
