//! The identities of requests, workers, batches and samples, which travel in place of data.

use std::time::Duration;

use divisi_model::dataflow::{RowSet, StepIndex};
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::order::SampleOrder;
use super::policy::Lane;

/// One request, unique for the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub u64);

/// A pipeline's position among those that are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PipelineIndex(pub usize);

/// One worker, unique for the engine's life: a restarted or resized one is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u64);

/// One batch, unique for the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub u64);

/// Consecutive slots of one extent of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Number of the extent.
    pub extent: usize,
    /// The first slot.
    pub slot: usize,
    /// How many slots.
    pub len: usize,
}

/// Consecutive samples of one part (the samples of a request in one extent), for one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The request they belong to.
    pub request: RequestKey,
    /// Number of the part in its request.
    pub part: usize,
    /// The step of its pipeline that they wait for.
    pub step: StepIndex,
    /// The layout of that step's input, a number of the pipeline's.
    pub plane: usize,
    /// Samples of the whole part.
    pub part_samples: usize,
    /// First sample within the part.
    pub first: usize,
    /// How many samples.
    pub len: usize,
    /// When they could be run: the request arrived, or the last step ended that theirs needs.
    pub arrived: Duration,
    /// Place of the first sample in the order in which samples run, over all requests.
    pub order: SampleOrder,
    /// Ranges of one segment share this number. They are neighbours in the queue where all are of one
    /// urgency.
    pub segment: u64,
}

impl Range {
    /// Returns its samples, counted in the part.
    pub fn rows(&self) -> RowSet {
        let rows = self.first..self.first + self.len;
        RowSet::filter(self.part_samples, |row| rows.contains(&row))
    }

    /// Cuts off the first `len` samples; the rest stays in `self`.
    pub fn split_front(&mut self, len: usize) -> Range {
        let front = Range { len, ..*self };
        self.first += len;
        self.order = self.order.plus(len);
        self.len -= len;
        front
    }
}

/// A batch for one worker: whose samples, and where they lie.
#[derive(Clone, Debug)]
pub struct Batch<T> {
    /// Its number.
    pub id: BatchId,
    /// The worker that runs it.
    pub worker: WorkerId,
    /// That worker's device.
    pub device: DeviceIndex,
    /// That worker's member.
    pub member: MemberIndex,
    /// The worker's batch size.
    pub size: BatchSize,
    /// The lane that runs it.
    pub lane: Lane,
    /// Samples of the worker in execution when it starts, its own among them.
    pub alive: usize,
    /// Samples in the ranges.
    pub samples: usize,
    /// Rows to run: more than the samples where the policy pads.
    pub rows: usize,
    /// The pipeline and the step of its first sample.
    pub of_step: (PipelineIndex, StepIndex),
    /// When the oldest sample arrived.
    pub oldest: Duration,
    /// Since when the policy held it back although its lane was idle; none for
    /// policies that do not.
    pub held_since: Option<Duration>,
    /// Its samples are in the device's own memory already.
    pub in_pool: bool,
    /// Its samples, in order.
    pub ranges: Vec<Placed<T>>,
}

/// Samples to copy ahead into a device's own pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The device.
    pub device: DeviceIndex,
    /// The member that asked first; others with the same input find them there.
    pub member: MemberIndex,
    /// Which part.
    pub part: PartKey,
    /// Samples of the part.
    pub samples: usize,
}

/// A part of a request as the input of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartKey {
    /// The request.
    pub request: RequestKey,
    /// Number of the part in its request.
    pub part: usize,
    /// The layout of the input, a number of the request's pipeline.
    pub plane: usize,
}

/// A range with its place in the pool and its request's payload.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// Which samples.
    pub range: Range,
    /// Where they lie in the pool.
    pub slice: Slice,
    /// How long it was copied ahead.
    pub copied_for: Duration,
    /// Kept with the request by the driver.
    pub payload: T,
}
