//! Numbers that are compared from scene to scene.

use divisi::session::{LoadPattern, Snapshot};

use super::{Demo, Mark};
use crate::console::format;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Samples a second since the watch began.
    Throughput,
    /// The same for each device that has a worker.
    PerDevice,
    P50,
    P99,
    /// Requests that failed or were refused since latencies were cleared.
    Lost,
}

/// A figure that was taken.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub scene: usize,
    pub figure: Figure,
    pub name: &'static str,
    pub value: f64,
}

impl Note {
    /// Rates are taken at full load in every scene; latencies only say something beside
    /// those under the same load.
    pub fn stands_by(&self, demo: &Demo) -> bool {
        matches!(self.figure, Figure::Throughput | Figure::PerDevice) || self.scene == demo.scene
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
    pub(super) fn of(self, demo: &Demo, shown: &Snapshot) -> Option<f64> {
        let latency = &shown.latency.since.summary;
        let answered = (latency.count > 0).then_some(latency);
        match self {
            Figure::Throughput => rate(demo.mark?, shown),
            Figure::PerDevice => Some(rate(demo.mark?, shown)? / devices(shown)),
            Figure::P50 => answered.map(|l| l.p50 as f64),
            Figure::P99 => answered.map(|l| l.p99 as f64),
            Figure::Lost => {
                let began = demo.began?;
                let lost = |c: &divisi::session::Counters| c.failed + c.refused + c.cancelled;
                Some(lost(&shown.counters).saturating_sub(lost(&began)) as f64)
            }
        }
    }
}

/// Samples a second since `mark`.
pub(super) fn rate(mark: Mark, shown: &Snapshot) -> Option<f64> {
    let seconds = shown.now.saturating_sub(mark.now).as_secs_f64();
    let answered = shown.counters.answered.saturating_sub(mark.answered);
    let each = match shown.load.pattern {
        Some(LoadPattern::Closed { samples, .. }) => samples,
        _ => 1,
    };
    (seconds > 0.0).then(|| answered as f64 * each as f64 / seconds)
}

fn devices(shown: &Snapshot) -> f64 {
    let rows = shown.matrix.rows();
    let used = rows.iter().filter(|row| row.iter().any(|size| *size > 0));
    used.count().max(1) as f64
}
