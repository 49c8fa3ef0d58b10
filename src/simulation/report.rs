//! What a run in virtual time came to.

use std::time::Duration;

use crate::metrics::{Latency, LatencySplit, LatencySummary, SplitMeans, SplitTally};
use crate::trace::Span;

/// One answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it was answered.
    pub at: Duration,
    pub samples: usize,
    pub latency: Duration,
    pub split: LatencySplit,
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Samples answered.
    pub samples: usize,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    pub latency: LatencySummary,
    /// Mean microseconds of a request.
    pub split: SplitMeans,
    pub refused: u64,
    /// Share of the run that each device was occupied.
    pub busy: Vec<f64>,
    /// Every request, in order of its answer.
    pub served: Vec<Served>,
    /// What every lane and copy engine did, in order of its end.
    pub spans: Vec<Span>,
}

impl Report {
    /// Samples answered a second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Works the distributions out from the requests.
    pub(super) fn summed_up(mut self) -> Self {
        let (mut latency, mut split) = (Latency::new(), SplitTally::default());
        for served in &self.served {
            latency.record(served.latency);
            split.record(served.split);
        }
        self.samples = self.served.iter().map(|s| s.samples).sum();
        self.latency = latency.summary();
        self.split = split.means();
        let elapsed = self.elapsed.as_secs_f64().max(1e-9);
        for busy in &mut self.busy {
            *busy = (*busy / elapsed).min(1.0);
        }
        self
    }
}
