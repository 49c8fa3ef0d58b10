//! What a run in virtual time came to.

use std::time::Duration;

use crate::metrics::{LatencySplit, LatencySummary, SplitMeans};
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
    /// Requests that failed, by an incident.
    pub failed: u64,
    /// Share of the run that each device was occupied.
    pub busy: Vec<f64>,
    /// Every request, in order of its answer, where they were to be kept.
    pub served: Vec<Served>,
    /// What every lane and copy engine did, in order of its end, where that was to be
    /// kept.
    pub spans: Vec<Span>,
}

impl Report {
    /// Samples answered a second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Busy seconds as shares of the run.
    pub(super) fn with_shares(mut self) -> Self {
        let elapsed = self.elapsed.as_secs_f64().max(1e-9);
        for busy in &mut self.busy {
            *busy = (*busy / elapsed).min(1.0);
        }
        self
    }
}
