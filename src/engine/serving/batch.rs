//! The identifiers of requests, workers, batches and samples.

use std::time::Duration;

use divisi_model::dataflow::{RowSet, StepIndex};
use divisi_model::ensemble::BatchSize;
use divisi_model::trace::StepPlace;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::order::SampleOrder;
use super::policy::Lane;

/// A request, unique for the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub u64);

/// The position of a pipeline among the served ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PipelineIndex(pub usize);

/// A worker, unique for the engine's life. Restarting or resizing a worker creates another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u64);

/// A batch, unique for the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub u64);

/// Consecutive slots of one extent of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The number of the extent.
    pub extent: usize,
    /// The first slot.
    pub slot: usize,
    /// The number of slots.
    pub len: usize,
}

/// Consecutive samples of one part (the samples of a request in one extent), for one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The request of the samples.
    pub request: RequestKey,
    /// The number of the part in its request.
    pub part: usize,
    /// The step of the pipeline that is to run.
    pub step: StepIndex,
    /// The layout of the step's input, by its number in the pipeline.
    pub plane: usize,
    /// The number of samples of the whole part.
    pub part_samples: usize,
    /// The first sample within the part.
    pub first: usize,
    /// The number of samples.
    pub len: usize,
    /// The time at which the samples could run: the request's arrival, or the end of the last step
    /// that they need.
    pub arrived: Duration,
    /// The position of the first sample in the order of execution, over all requests.
    pub order: SampleOrder,
    /// Ranges of one segment share this number. They are neighbours in the queue if all have the
    /// same urgency.
    pub segment: u64,
}

impl Range {
    /// Returns the samples, numbered within the part.
    pub fn rows(&self) -> RowSet {
        let rows = self.first..self.first + self.len;
        RowSet::filter(self.part_samples, |row| rows.contains(&row))
    }

    /// Splits off the first `len` samples. The rest stays in `self`.
    pub fn split_front(&mut self, len: usize) -> Range {
        let front = Range { len, ..*self };
        self.first += len;
        self.order = self.order.plus(len);
        self.len -= len;
        front
    }
}

/// A batch for one worker, with the locations of its samples.
#[derive(Clone, Debug)]
pub struct Batch<T> {
    /// The number of the batch.
    pub id: BatchId,
    /// The worker for the batch.
    pub worker: WorkerId,
    /// The worker's device.
    pub device: DeviceIndex,
    /// The worker's member.
    pub member: MemberIndex,
    /// The worker's batch size.
    pub size: BatchSize,
    /// The lane for the batch.
    pub lane: Lane,
    /// The worker's samples in execution when the batch starts, including its own.
    pub alive: usize,
    /// Samples in the ranges.
    pub samples: usize,
    /// The rows to run. More than the samples if the policy pads.
    pub rows: usize,
    /// The step of the first sample.
    pub of_step: StepPlace,
    /// The arrival of the oldest sample.
    pub oldest: Duration,
    /// The time since when the policy has held the batch back on an idle lane, or `None` for other
    /// policies.
    pub held_since: Option<Duration>,
    /// Whether the samples are already in the device's own memory.
    pub in_pool: bool,
    /// The samples, in order.
    pub ranges: Vec<Placed<T>>,
}

/// Samples to copy ahead into a device's own pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The device.
    pub device: DeviceIndex,
    /// The member that requested the copy. Other members with the same input use it too.
    pub member: MemberIndex,
    /// The part to copy.
    pub part: PartKey,
    /// The number of the part's samples.
    pub samples: usize,
}

/// A part of a request as the input of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartKey {
    /// The request.
    pub request: RequestKey,
    /// The number of the part in its request.
    pub part: usize,
    /// The layout of the input, by its number in the request's pipeline.
    pub plane: usize,
}

/// A range with its slots in the pool and its request's payload.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The samples.
    pub range: Range,
    /// The slots of the samples in the pool.
    pub slice: Slice,
    /// The time for which the range was copied ahead.
    pub copied_for: Duration,
    /// The driver's data for the request.
    pub payload: T,
}
