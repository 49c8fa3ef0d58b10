//! The runs of steps behind an answer, for callers that request them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::answer::{BatchOfRun, StepRun};
use crate::serving::batch::{Batch, Placed};
use crate::serving::core::{HostWork, Stamps};
use divisi_model::codes::Code;
use divisi_model::dataflow::StepIndex;

use super::locks::Leaf;

/// Receives runs of steps.
type RunsTold = dyn Fn(&[StepRun]) + Send + Sync;

/// Receives the runs that no answer lists, because the request failed or they ended after its
/// answer. Called when nothing of the request is under way any more, possibly with locks of the
/// engine held, so it may take only leaf locks.
#[derive(Clone)]
pub struct RunListener(Arc<RunsTold>);

impl RunListener {
    /// Creates a listener that calls `tell`, which must be quick.
    pub fn new(tell: impl Fn(&[StepRun]) + Send + Sync + 'static) -> Self {
        RunListener(Arc::new(tell))
    }
}

impl fmt::Debug for RunListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunListener")
    }
}

/// The runs of a request's steps.
pub(super) struct RunLog {
    /// The time of submission.
    submitted: Duration,
    listener: RunListener,
    runs: Leaf<Vec<StepRun>>,
    /// Steps that failed for some rows.
    failed: Leaf<Vec<(StepIndex, Code)>>,
}

impl Drop for RunLog {
    fn drop(&mut self) {
        let untold = self.take();
        if !untold.is_empty() {
            (self.listener.0)(&untold);
        }
    }
}

impl RunLog {
    pub(super) fn new(submitted: Duration, listener: &RunListener) -> Self {
        RunLog {
            submitted,
            listener: listener.clone(),
            runs: Leaf::default(),
            failed: Leaf::default(),
        }
    }

    /// Records that a step failed for some rows.
    pub(super) fn failed(&self, step: StepIndex, why: Code) {
        self.failed.lock().push((step, why));
    }

    /// Returns the runs in the order of their ends.
    pub(super) fn take(&self) -> Vec<StepRun> {
        let mut runs = std::mem::take(&mut *self.runs.lock());
        let failed = self.failed.lock();
        for run in &mut runs {
            let failure = failed.iter().find(|(step, _)| *step == run.step);
            run.failed = failure.map(|(_, why)| *why);
        }
        runs
    }

    /// Records a batch that ended at `end`, with a number that is unique in the process. `placed`
    /// are the request's rows in it.
    pub(super) fn of_batch<T>(
        &self,
        number: u64,
        batch: &Batch<T>,
        is_first: bool,
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
            failed: None,
            batch: Some(BatchOfRun {
                number,
                device: batch.device,
                samples: batch.samples,
                is_first,
            }),
        });
    }

    /// Records a step on the host that ran until `end`.
    pub(super) fn of_host<T>(&self, work: &HostWork<T>, end: Duration) {
        self.runs.lock().push(StepRun {
            step: work.step,
            rows: work.rows.count(work.samples),
            arrived: work.arrived.saturating_sub(self.submitted),
            queued: work.started.saturating_sub(work.arrived),
            input: Duration::ZERO,
            computed: end.saturating_sub(work.started),
            output: Duration::ZERO,
            failed: None,
            batch: None,
        });
    }
}
