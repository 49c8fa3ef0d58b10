//! Figures over the whole session: a record for each second, which the [`FigureHistory`] merges with
//! its neighbours as it ages, so that its memory is bounded.
//!
//! A merged record keeps the lowest, the mean and the highest value of each figure. A percentile of
//! merged seconds is unknown: its highest value is the worst second's percentile.

mod history;
mod recorder;

pub use history::FigureHistory;
pub use recorder::{FigureCounters, FigureGauges, FigureRecorder};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_runtime::named::named;

named! {
    /// A figure that is recorded over time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Figure {
        /// The median latency of a second, in microseconds.
        P50 = "p50",
        /// The 99th percentile of the latencies of a second, in microseconds; the longest latency
        /// if there are fewer than a hundred.
        P99 = "p99",
        /// Requests that arrived per second: admitted or refused.
        Offered = "offered",
        /// Requests answered per second.
        Answered = "answered",
        /// Samples answered per second.
        Samples = "samples",
        /// Samples that wait for a worker, over all members.
        Queue = "queue",
        /// Requests refused per second.
        Refused = "refused",
        /// Requests failed per second.
        Failed = "failed",
        /// Requests that the built-in load sent per second.
        Load = "load",
        /// The share of requests that met the service objective, 0 to 1.
        Met = "objective",
        /// The load of the busiest device, 0 to 1.
        Device = "device",
        /// The load of the host's processors, other programs included, 0 to 1.
        Host = "host",
        /// The cost of a million samples, of the most expensive task.
        Cost = "cost",
    }
}

/// The number of figures.
const FIGURES: usize = Figure::ALL.len();

impl Figure {
    /// Returns its place in a record.
    fn index(self) -> usize {
        self as usize
    }
}

/// The values of a figure within a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureSpread {
    /// The lowest value.
    pub low: f32,
    /// The mean: of latencies by requests, of other figures by time.
    pub mean: f32,
    /// The highest value.
    pub high: f32,
    /// The weight of the mean: requests or seconds.
    weight: f32,
}

impl FigureSpread {
    /// Creates the spread of a single value with a weight above zero.
    pub fn single(value: f64, weight: f64) -> Self {
        let value = value as f32;
        FigureSpread {
            low: value,
            mean: value,
            high: value,
            weight: weight as f32,
        }
    }

    /// Returns the spread of both.
    #[must_use]
    fn merged(self, other: FigureSpread) -> Self {
        let weight = self.weight + other.weight;
        let part = match weight > 0.0 {
            true => other.weight / weight,
            false => 0.5,
        };
        FigureSpread {
            low: self.low.min(other.low),
            mean: self.mean + (other.mean - self.mean) * part,
            high: self.high.max(other.high),
            weight,
        }
    }

    /// Returns whether all numbers are finite and in order.
    fn is_valid(&self) -> bool {
        let all = [self.low, self.mean, self.high, self.weight];
        all.iter().all(|value| value.is_finite()) && self.low <= self.high
    }
}

/// The figures of one or more successive seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRecord {
    /// Its first second since the engine's start.
    from: u64,
    /// The second after its last.
    until: u64,
    /// The figures, by [`Figure`]; `None` if nothing was measured.
    figures: [Option<FigureSpread>; FIGURES],
}

/// A bound on seconds since the start that leaves room for additions.
const END_OF_TIME: u64 = 1 << 40;

impl FigureRecord {
    /// Creates a record of the seconds from `from` until before `until` without figures.
    pub fn new(from: u64, until: u64) -> Self {
        FigureRecord {
            from,
            until: until.max(from + 1),
            figures: [None; FIGURES],
        }
    }

    /// Sets a figure.
    #[must_use]
    pub fn with(mut self, figure: Figure, spread: FigureSpread) -> Self {
        self.figures[figure.index()] = Some(spread);
        self
    }

    /// Returns a figure, or `None` if it was not measured.
    pub fn figure(&self, figure: Figure) -> Option<FigureSpread> {
        self.figures[figure.index()]
    }

    /// Returns its start, since the engine's start.
    pub fn from(&self) -> Duration {
        Duration::from_secs(self.from)
    }

    /// Returns its end, since the engine's start.
    pub fn until(&self) -> Duration {
        Duration::from_secs(self.until)
    }

    /// Returns the number of seconds from its start to its end.
    pub fn seconds(&self) -> u64 {
        self.until - self.from
    }

    /// Adds a later record.
    pub fn merge(&mut self, other: &FigureRecord) {
        self.from = self.from.min(other.from);
        self.until = self.until.max(other.until);
        for (mine, other) in self.figures.iter_mut().zip(other.figures) {
            *mine = match (*mine, other) {
                (Some(mine), Some(other)) => Some(mine.merged(other)),
                (mine, other) => mine.or(other),
            };
        }
    }

    /// Returns whether its times and numbers are possible.
    pub(crate) fn is_valid(&self) -> bool {
        let figures = self.figures.iter().flatten();
        self.from < self.until
            && self.until < END_OF_TIME
            && figures.into_iter().all(FigureSpread::is_valid)
    }
}
