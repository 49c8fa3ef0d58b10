//! Counters at a moment; the difference of two says what happened between.

use std::time::Duration;

use super::log_histogram::LogHistogram;

/// An engine's counters since its start, which never decrease.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time since the engine's start.
    pub at: Duration,
    /// Requests answered.
    pub answered: u64,
    /// Their samples.
    pub samples: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// The time in which anything was answered.
    pub active: Duration,
    /// Samples whose label was known.
    pub labelled: u64,
    /// Those of them whose answer was the label.
    pub right: u64,
    /// Latencies of requests, from submission to answer.
    pub latency: LogHistogram,
}

impl Reading {
    /// Returns the difference from `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            at: self.at.saturating_sub(earlier.at),
            answered: self.answered.saturating_sub(earlier.answered),
            samples: self.samples.saturating_sub(earlier.samples),
            failed: self.failed.saturating_sub(earlier.failed),
            refused: self.refused.saturating_sub(earlier.refused),
            active: self.active.saturating_sub(earlier.active),
            labelled: self.labelled.saturating_sub(earlier.labelled),
            right: self.right.saturating_sub(earlier.right),
            latency: self.latency.since(&earlier.latency),
        }
    }

    /// Returns the samples a second of the time in which anything was answered.
    pub fn samples_per_s(&self) -> f64 {
        let active = self.active.min(self.at);
        match active.is_zero() {
            true => 0.0,
            false => self.samples as f64 / active.as_secs_f64(),
        }
    }

    /// Returns the share of right answers among samples with labels, or `None` if there are
    /// none.
    pub fn accuracy(&self) -> Option<f64> {
        (self.labelled > 0).then(|| self.right as f64 / self.labelled as f64)
    }
}
