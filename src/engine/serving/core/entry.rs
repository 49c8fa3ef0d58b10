//! Requests in the core.

use std::ops;
use std::time::Duration;

use crate::serving::batch::{PipelineIndex, Range, RequestKey, Slice};
use crate::serving::order::SampleOrder;
use divisi_model::dataflow::{PartProgress, RowSet, StepIndex, WantedSteps};
use divisi_model::metrics::LatencySplit;

use super::due::DueTurn;
use super::owed::{Finished, RequestBatches};
use super::waiting::WaitingRequest;

/// A request before admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The requested pipeline.
    pub pipeline: PipelineIndex,
    /// The number of samples.
    pub samples: usize,
    /// The time after which it fails.
    pub deadline: Option<Duration>,
    /// The steps whose results are requested, or `None` for all outputs.
    pub outputs: Option<Vec<StepIndex>>,
    /// The priority, if the pipeline has priorities. 0 is the default.
    pub priority: u64,
    /// The longest wait for the first batch, if the pipeline allows the request to set one.
    pub patience: Option<Duration>,
    /// The due time of the answer. Requests of one priority run in the order of their due times,
    /// after requests without one.
    pub due: Option<Duration>,
}

impl Arrival {
    /// Creates an arrival at the first pipeline for all outputs.
    pub fn with_samples(samples: usize) -> Self {
        Arrival {
            pipeline: PipelineIndex::default(),
            samples,
            deadline: None,
            outputs: None,
            priority: 0,
            patience: None,
            due: None,
        }
    }

    /// Sets the deadline.
    #[must_use]
    pub fn until(self, deadline: Option<Duration>) -> Self {
        Arrival { deadline, ..self }
    }
}

/// An admitted request, with the slots for its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The request's number.
    pub request: RequestKey,
    /// The slots for its samples, part by part.
    pub parts: Vec<Slice>,
}

/// A step on the host that is ready to run for a part. The driver reports its end by
/// [`Core::made`].
#[derive(Clone, Debug)]
pub struct HostWork<T> {
    /// The request.
    pub request: RequestKey,
    /// The number of the part in the request.
    pub part: usize,
    /// The step.
    pub step: StepIndex,
    /// The rows to run.
    pub rows: RowSet,
    /// The steps whose results the step may read, each with its existing rows.
    pub held: Vec<(StepIndex, RowSet)>,
    /// The time at which the step could run.
    pub arrived: Duration,
    /// The time at which the step began, set by the driver.
    pub started: Duration,
    /// The number of the part's samples.
    pub samples: usize,
    /// The driver's data for the request.
    pub payload: T,
}

/// A request that holds slots of its pool.
pub(super) struct RequestEntry<T> {
    pub payload: T,
    pub pipeline: PipelineIndex,
    pub wanted: WantedSteps,
    pub parts: Vec<PartEntry>,
    pub samples: usize,
    /// The number of parts that are not over.
    pub open: usize,
    /// The number of parts that hold their slots.
    pub held: usize,
    /// The positions of its samples in the order of execution. Empty before they are queued.
    pub orders: ops::Range<SampleOrder>,
    /// Set while the request waits for its first batch, if the pipeline bounds that wait.
    pub waiting: Option<WaitingRequest>,
    pub submitted: Duration,
    pub due: Option<Duration>,
    pub turn: DueTurn,
    pub deadline: Option<Duration>,
    /// The steps that its quorums did without, in order.
    pub late: Vec<StepIndex>,
    /// Its last batches.
    pub batches: RequestBatches,
    /// Whether one of its batches has begun, or none ever will.
    pub begun: bool,
    /// Whether the request was answered or failed, so that only its slots remain to be freed.
    pub over: bool,
}

/// The timers of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestTimers {
    pub pipeline: PipelineIndex,
    pub submitted: Duration,
    pub deadline: Option<Duration>,
    pub waiting: Option<WaitingRequest>,
    /// Whether none of its batches had begun.
    pub waited: bool,
}

/// A part of a request in the core.
pub(super) struct PartEntry {
    pub slice: Slice,
    /// Samples of queued or running steps, and running steps on the host.
    pub outstanding: usize,
    /// The progress, or `None` before the part is queued.
    pub progress: Option<PartProgress>,
    /// The position of the first sample in the order of execution.
    pub order: SampleOrder,
    /// Whether the slots are still to be freed.
    pub held: bool,
}

impl<T> RequestEntry<T> {
    /// Takes the timers, because no client waits for the request any more.
    pub(super) fn take_timers(&mut self) -> RequestTimers {
        RequestTimers {
            pipeline: self.pipeline,
            submitted: self.submitted,
            deadline: self.deadline,
            waiting: self.waiting.take(),
            waited: !std::mem::replace(&mut self.begun, true),
        }
    }

    /// Returns whether the samples of a queued or finished range are still needed.
    pub(super) fn waits_for(&self, range: &Range) -> bool {
        let progress = self.parts[range.part].progress.as_ref();
        !self.over && progress.is_some_and(|p| p.is_running(range.step))
    }

    pub(super) fn finished(
        &self,
        now: Duration,
        request: RequestKey,
        split: LatencySplit,
    ) -> Finished<T>
    where
        T: Clone,
    {
        Finished {
            request,
            payload: self.payload.clone(),
            samples: self.samples,
            latency: now.saturating_sub(self.submitted),
            split,
            late: self.late.clone(),
            batches: self.batches,
            last: None,
            unmet: false,
        }
    }

    /// Records steps that quorums did without.
    pub(super) fn note_late(&mut self, late: &[StepIndex]) {
        if !late.is_empty() {
            self.late.extend(late);
            self.late.sort_unstable();
            self.late.dedup();
        }
    }
}

impl PartEntry {
    pub(super) fn new(slice: Slice) -> Self {
        PartEntry {
            slice,
            outstanding: 0,
            progress: None,
            order: SampleOrder::default(),
            held: true,
        }
    }

    /// Returns the samples of the part as a range for a step.
    pub(super) fn range(
        &self,
        request: RequestKey,
        part: usize,
        step: StepIndex,
        plane: usize,
        now: Duration,
    ) -> Range {
        Range {
            request,
            part,
            step,
            plane,
            part_samples: self.slice.len,
            first: 0,
            len: self.slice.len,
            arrived: now,
            order: self.order,
            segment: 0,
        }
    }

    /// Returns the positions of the samples in the order of execution.
    pub(super) fn orders(&self) -> ops::Range<SampleOrder> {
        self.order..self.order.plus(self.slice.len)
    }

    /// Passes the samples of `whole` that its step runs to `submit`. Returns their number.
    pub(super) fn queue(&mut self, whole: Range, mut submit: impl FnMut(Range)) -> usize {
        let Some(progress) = &self.progress else {
            return 0;
        };
        let before = self.outstanding;
        for run in progress.rows_of(whole.step).runs(self.slice.len) {
            self.outstanding += run.len();
            submit(Range {
                first: run.start,
                len: run.len(),
                order: whole.order.plus(run.start),
                ..whole
            });
        }
        self.outstanding - before
    }
}

impl<T: Clone> RequestEntry<T> {
    /// Returns the work of a step on the host that is ready.
    pub(super) fn host_work(
        &mut self,
        now: Duration,
        request: RequestKey,
        part: usize,
        step: StepIndex,
        needs: &[StepIndex],
    ) -> Option<HostWork<T>> {
        let place = &mut self.parts[part];
        let progress = place.progress.as_ref()?;
        let over = needs.iter().filter(|need| progress.is_over(**need));
        let held = over.map(|need| (*need, progress.rows_of(*need).clone()));
        place.outstanding += 1;
        Some(HostWork {
            held: held.collect(),
            rows: progress.rows_of(step).clone(),
            arrived: now,
            started: now,
            request,
            part,
            step,
            samples: place.slice.len,
            payload: self.payload.clone(),
        })
    }
}
