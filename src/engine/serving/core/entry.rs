//! A request as the core keeps it.

use std::ops;
use std::time::Duration;

use crate::serving::batch::{PipelineIndex, Range, RequestKey, Slice};
use crate::serving::order::SampleOrder;
use divisi_model::dataflow::{PartProgress, RowSet, StepIndex, WantedSteps};
use divisi_model::metrics::LatencySplit;

use super::due::DueTurn;
use super::owed::Finished;
use super::waiting::WaitingRequest;

/// A request at the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The pipeline that it asks.
    pub pipeline: PipelineIndex,
    /// Its samples.
    pub samples: usize,
    /// The time after which it fails.
    pub deadline: Option<Duration>,
    /// The steps whose results it asks for; `None` for all outputs.
    pub outputs: Option<Vec<StepIndex>>,
    /// Its priority, where its pipeline has some; 0 for the default.
    pub priority: u64,
    /// How long it waits for its first batch at most, where its pipeline lets it say so.
    pub patience: Option<Duration>,
    /// When it is to be answered: of requests of one priority those run first that are due first, before
    /// them those that name no time.
    pub due: Option<Duration>,
}

impl Arrival {
    /// Asks the first pipeline for all outputs.
    pub fn of(samples: usize) -> Self {
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

    /// The same, given up at `deadline`.
    #[must_use]
    pub fn until(self, deadline: Option<Duration>) -> Self {
        Arrival { deadline, ..self }
    }
}

/// A request that was let in: where its samples go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The request's number.
    pub request: RequestKey,
    /// Where its samples go, part by part.
    pub parts: Vec<Slice>,
}

/// A step of the host's that is to be run for a part; then [`Core::made`] is to be told.
#[derive(Clone, Debug)]
pub struct HostWork<T> {
    /// The request.
    pub request: RequestKey,
    /// Number of the part in it.
    pub part: usize,
    /// The step.
    pub step: StepIndex,
    /// The rows that it is to be run for.
    pub rows: RowSet,
    /// The steps whose results it may read, each with the rows that these exist for.
    pub held: Vec<(StepIndex, RowSet)>,
    /// When it could be run.
    pub arrived: Duration,
    /// When it was begun; the driver says so.
    pub started: Duration,
    /// Samples of the part.
    pub samples: usize,
    /// Kept with the request by the driver.
    pub payload: T,
}

/// A request that holds slots of its pool.
pub(super) struct RequestEntry<T> {
    pub payload: T,
    pub pipeline: PipelineIndex,
    pub wanted: WantedSteps,
    pub parts: Vec<PartEntry>,
    pub samples: usize,
    /// Parts that are not over.
    pub open: usize,
    /// Parts that hold their slots.
    pub held: usize,
    /// Places of its samples in the order in which samples run; none before they are queued.
    pub orders: ops::Range<SampleOrder>,
    /// It waits for its first batch, where its pipeline bounds that.
    pub waiting: Option<WaitingRequest>,
    pub submitted: Duration,
    pub due: Option<Duration>,
    pub turn: DueTurn,
    pub deadline: Option<Duration>,
    /// The steps that its quorums did without, in order.
    pub late: Vec<StepIndex>,
    /// A batch of it has begun, or none will any more.
    pub begun: bool,
    /// It was answered or failed: only its slots are still to be freed.
    pub over: bool,
}

/// When a request has to be looked at, whatever happens.
#[derive(Clone, Copy)]
pub(super) struct RequestTimers {
    pub pipeline: PipelineIndex,
    pub submitted: Duration,
    pub deadline: Option<Duration>,
    pub waiting: Option<WaitingRequest>,
    /// No batch of it had begun.
    pub waited: bool,
}

/// A part of such a request.
pub(super) struct PartEntry {
    pub slice: Slice,
    /// Samples of steps that are queued or run, and steps of the host's that run.
    pub outstanding: usize,
    /// `None` before it is queued.
    pub progress: Option<PartProgress>,
    /// Place of its first sample in the order in which samples run.
    pub order: SampleOrder,
    /// Whether its slots are still to be freed.
    pub held: bool,
}

impl<T> RequestEntry<T> {
    /// Takes what has to be looked at out: nobody waits for it any more.
    pub(super) fn take_timers(&mut self) -> RequestTimers {
        RequestTimers {
            pipeline: self.pipeline,
            submitted: self.submitted,
            deadline: self.deadline,
            waiting: self.waiting.take(),
            waited: !std::mem::replace(&mut self.begun, true),
        }
    }

    /// Whether somebody still waits for the samples of a range that is queued or was run.
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
            unmet: false,
        }
    }

    /// Notes steps that quorums did without.
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

    /// The samples of the part as they wait for a step.
    pub(super) fn range(
        &self,
        request: RequestKey,
        part: usize,
        (step, plane): (StepIndex, usize),
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

    /// Places of its samples in the order in which samples run.
    pub(super) fn orders(&self) -> ops::Range<SampleOrder> {
        self.order..self.order.plus(self.slice.len)
    }

    /// Hands those samples of `whole` to `submit` that its step runs. Returns how many they are.
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
    /// Returns the work of a step of the host's that is ready.
    pub(super) fn host_work(
        &mut self,
        now: Duration,
        (request, part): (RequestKey, usize),
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
