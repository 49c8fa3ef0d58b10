//! Counters as they stood at a moment; two of them tell what happened between.

use std::time::Duration;

use super::log_histogram::LogHistogram;

/// What an engine has done since its start. Nothing in it is ever taken back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time since the engine's start.
    pub at: Duration,
    /// Requests answered, and their samples.
    pub answered: u64,
    pub samples: u64,
    /// Requests that failed, and that were refused.
    pub failed: u64,
    pub refused: u64,
    /// Time in which anything was answered.
    pub active: Duration,
    /// Samples whose label was known, and those that met it.
    pub labelled: u64,
    pub right: u64,
    /// Of requests, from submission to answer.
    pub latency: LogHistogram,
}

impl Reading {
    /// What happened since `earlier`.
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

    /// Samples a second while anything was answered.
    pub fn samples_per_s(&self) -> f64 {
        let active = self.active.min(self.at);
        match active.is_zero() {
            true => 0.0,
            false => self.samples as f64 / active.as_secs_f64(),
        }
    }

    /// Share of samples whose label was met, where labels are known.
    pub fn accuracy(&self) -> Option<f64> {
        (self.labelled > 0).then(|| self.right as f64 / self.labelled as f64)
    }
}
