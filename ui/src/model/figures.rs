//! Figures compared between scenes, with confidence intervals: two figures differ only if their
//! intervals do not overlap.

use std::time::Duration;

use divisi_model::metrics::Bucket;
use divisi_session::{Counters, LoadPattern, Snapshot};
use serde::Deserialize;

use crate::text::format;

/// A comparable figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Samples per second since the watch began.
    Throughput,
    /// Samples per second for each device with a worker.
    PerDevice,
    P50,
    P99,
    /// Requests that failed or were refused since counting began.
    Lost,
}

/// A noted figure.
#[derive(Clone, Debug)]
pub struct FigureNote {
    pub scene: usize,
    pub figure: Figure,
    pub name: &'static str,
    pub measured: Estimate,
    /// The time of its measurement.
    pub over: Duration,
    /// The number of requests behind it.
    pub requests: u64,
}

impl FigureNote {
    /// Returns its formatted value.
    pub fn text(&self) -> String {
        self.figure.text(self.measured.value)
    }

    /// Returns whether it is comparable with the figures of a scene. Rates are measured at full
    /// load in every scene; latencies are comparable only under the same load.
    pub fn stands_by(&self, scene: usize) -> bool {
        matches!(self.figure, Figure::Throughput | Figure::PerDevice) || self.scene == scene
    }
}

impl Figure {
    /// Returns its name with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Throughput => "samples/s",
            Figure::PerDevice => "samples/s a device",
            Figure::P50 => "p50 ms",
            Figure::P99 => "p99 ms",
            Figure::Lost => "requests lost",
        }
    }

    /// Formats a value.
    pub fn text(self, value: f64) -> String {
        match self {
            Figure::P50 | Figure::P99 => format::millis(value as u64),
            Figure::PerDevice if value < 100.0 => format!("{value:.1}"),
            _ => format::grouped(value.max(0.0).round() as u64),
        }
    }

    /// Returns its current value, or `None` without measurements.
    pub fn current_value(
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

/// Returns the samples per second over `looks`.
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

/// The minimum interval between two readings of a counter.
pub(crate) const APART: Duration = Duration::from_millis(250);
/// The smallest half-width of an interval, as a share of the value, for a measurement of any
/// length.
const NEAR: f64 = 0.01;

/// A reading of a counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterLook {
    pub now: Duration,
    pub answered: u64,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    low: f64,
    high: f64,
}

/// The relation of a figure to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    More,
    /// The difference is not significant.
    Same,
    Less,
}

impl Estimate {
    /// Returns an exact count.
    pub fn exactly(value: f64) -> Self {
        Estimate {
            value,
            low: value,
            high: value,
        }
    }

    /// Returns a rate over `looks`, with its variation between them.
    pub fn rate(looks: &[CounterLook]) -> Option<Self> {
        let (first, last) = (looks.first()?, looks.last()?);
        let value = between(*first, *last)?;
        let pairs = looks.iter().zip(looks.iter().skip(1));
        let parts: Vec<f64> = pairs.filter_map(|(a, b)| between(*a, *b)).collect();
        let count = parts.len() as f64;
        let squares: f64 = parts.iter().map(|part| (part - value).powi(2)).sum();
        let error = match parts.len() {
            0 | 1 => value,
            _ => (squares / (count - 1.0) / count).sqrt(),
        };
        let half = (2.0 * error).max(NEAR * value);
        Some(Estimate {
            value,
            low: value - half,
            high: value + half,
        })
    }

    /// Returns the latency that `share` of requests stay under. Its interval covers the bars of the
    /// requests that could be at its place.
    pub fn quantile(value: f64, share: f64, buckets: &[Bucket]) -> Self {
        let count: u64 = buckets.iter().map(|b| b.count).sum();
        let (at, all) = (share * count as f64, count as f64);
        let off = 2.0 * (all * share * (1.0 - share)).sqrt();
        let (low, _) = bar(buckets, at - off);
        let (_, high) = bar(buckets, (at + off + 1.0).min(all));
        Estimate {
            value,
            low: low.min(value * (1.0 - NEAR)),
            high: high.max(value * (1.0 + NEAR)),
        }
    }

    /// Returns the estimate multiplied by `factor`.
    pub fn times(self, factor: f64) -> Self {
        Estimate {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }

    /// Compares it with `before`.
    pub fn against(self, before: Estimate) -> Comparison {
        if self.low > before.high {
            Comparison::More
        } else if self.high < before.low {
            Comparison::Less
        } else {
            Comparison::Same
        }
    }
}

fn between(from: CounterLook, to: CounterLook) -> Option<f64> {
    let seconds = to.now.saturating_sub(from.now).as_secs_f64();
    let answered = to.answered.saturating_sub(from.answered);
    (seconds > 0.0).then(|| answered as f64 / seconds)
}

/// Returns the ends of the bar of the request at `place`.
fn bar(buckets: &[Bucket], place: f64) -> (f64, f64) {
    let mut seen = 0;
    for bucket in buckets {
        seen += bucket.count;
        if seen as f64 >= place {
            return (bucket.from as f64, bucket.micros as f64);
        }
    }
    let end = buckets.last().map_or(0.0, |bucket| bucket.micros as f64);
    (end, end)
}
