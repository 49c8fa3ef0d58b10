//! A worker on a GPU: its lanes, each with a thread, over one copy of the weights.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::serving::policy::lane_sizes;
use crate::serving::scheduler::WorkerSpec;
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::compute::gpu::Program;
use divisi_runtime::lock::Ranked;

use super::super::super::locks::GpuLanesRank;
use super::super::super::request::LiveBatch;
use super::super::driver::BatchError;
use super::super::thread::BoundedThread;

/// A worker on a GPU with its lanes.
pub(super) struct GpuWorker {
    /// The cell of the worker.
    pub spec: WorkerSpec,
    /// The network of its lanes.
    pub program: Arc<dyn Program>,
    lanes: Ranked<GpuLanesRank, Vec<LaneHandle>>,
}

/// A handle to one lane.
pub(super) struct LaneHandle {
    /// The most rows of its batches.
    pub size: usize,
    /// The sender of batches to the lane.
    pub inbox: Sender<LiveBatch>,
    /// The thread, which ends after the inbox is dropped.
    pub thread: BoundedThread,
}

impl GpuWorker {
    /// Creates a worker without lanes.
    pub(super) fn new(spec: WorkerSpec, program: Arc<dyn Program>) -> Self {
        GpuWorker {
            spec,
            program,
            lanes: Ranked::default(),
        }
    }

    /// Adds a lane after the others.
    pub(super) fn add(&self, lane: LaneHandle) {
        self.lanes.lock().push(lane);
    }

    /// Returns whether the lanes match those that a batch was formed for.
    pub(super) fn suits(&self, batch: &LiveBatch) -> bool {
        let lanes = self.lanes.lock();
        lanes.iter().map(|lane| lane.size).eq(sizes_with(batch))
    }

    /// Passes a batch to its lane.
    ///
    /// # Errors
    /// There is no lane for the batch. Returns the batch with the reason.
    #[allow(clippy::result_large_err, reason = "a batch is moved, not copied")]
    pub(super) fn hand_over(&self, batch: LiveBatch) -> Result<(), (LiveBatch, BatchError)> {
        let lanes = self.lanes.lock();
        let sent = match lanes.get(batch.lane.index) {
            Some(lane) => lane.inbox.send(batch).map_err(|unsent| unsent.0),
            None => Err(batch),
        };
        sent.map_err(|batch| (batch, BatchError::NoLane))
    }

    /// Ends every lane after its last batch, and returns their threads.
    pub(super) fn disband(&self) -> Vec<BoundedThread> {
        let lanes = std::mem::take(&mut *self.lanes.lock());
        lanes.into_iter().map(|lane| lane.thread).collect()
    }
}

/// Returns the lanes of the worker that a batch was formed for: those that split its batch size,
/// unless the batch uses all of it.
pub(super) fn sizes_with(batch: &LiveBatch) -> Vec<usize> {
    let whole = batch.lane.size == batch.size.get();
    let policy = match whole {
        true => PolicyKind::NoWait,
        false => PolicyKind::Elastic { max_inf: None },
    };
    lane_sizes(policy, batch.size, true)
}
