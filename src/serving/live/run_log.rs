//! The runs of steps that made an answer, for callers that want to know.

use std::time::Duration;

use crate::serving::answer::{BatchOfRun, StepRun};
use crate::serving::batch::{Batch, Placed};
use crate::serving::core::{HostWork, Stamps};

use super::locks::Leaf;

/// The runs of a request's steps so far.
pub(super) struct RunLog {
    /// When the request was submitted.
    submitted: Duration,
    runs: Leaf<Vec<StepRun>>,
}

impl RunLog {
    pub(super) fn new(submitted: Duration) -> Self {
        RunLog {
            submitted,
            runs: Leaf::default(),
        }
    }

    /// Returns the runs in the order in which they ended.
    pub(super) fn take(&self) -> Vec<StepRun> {
        std::mem::take(&mut self.runs.lock())
    }

    /// Notes a batch, with a number that no other of the process has, that ended at `end`. `placed`
    /// are the request's rows in it.
    pub(super) fn of_batch<T>(
        &self,
        (number, batch, is_first): (u64, &Batch<T>, bool),
        placed: &Placed<T>,
        stamps: &Stamps,
        end: Duration,
    ) {
        let between = |from: Duration, to: Duration| to.saturating_sub(from);
        let range = &placed.range;
        self.runs.lock().push(StepRun {
            step: range.step,
            rows: range.len,
            arrived: between(self.submitted, range.arrived),
            queued: between(range.arrived, stamps.started),
            input: between(stamps.started, stamps.copied),
            computed: between(stamps.copied, stamps.computed),
            output: between(stamps.computed, end),
            batch: Some(BatchOfRun {
                number,
                device: batch.device,
                samples: batch.samples,
                is_first,
            }),
        });
    }

    /// Notes a step of the host's that was run until `end`.
    pub(super) fn of_host<T>(&self, work: &HostWork<T>, end: Duration) {
        self.runs.lock().push(StepRun {
            step: work.step,
            rows: work.rows.count(work.samples),
            arrived: work.arrived.saturating_sub(self.submitted),
            queued: work.started.saturating_sub(work.arrived),
            input: Duration::ZERO,
            computed: end.saturating_sub(work.started),
            output: Duration::ZERO,
            batch: None,
        });
    }
}
