//! An open GPU with its workers, samples and copies.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use crate::serving::batch::WorkerId;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::gpu::{Gpu, GpuError, GpuInfo, Stream};
use divisi_runtime::lock::Ranked;

use super::super::super::factory::BuildError;
use super::super::super::locks::{
    GpuCopierRank, GpuDrivingRank, GpuMakingRank, GpuSamplesRank, GpuWorkersRank, Leaf,
};
use super::super::super::request::LiveBatch;
use super::super::driver::{BatchError, ServedNetworks};
use super::super::thread::BoundedThread;
use super::buffers::BusyIntervals;
use super::cache::{PartCopy, SampleCache};
use super::worker::GpuWorker;

/// An open GPU.
pub(super) struct GpuContext {
    pub gpu: Arc<dyn Gpu>,
    /// The stream that copies samples ahead of their batches.
    pub copy_in: Arc<dyn Stream>,
    pub samples: Ranked<GpuSamplesRank, SampleCache>,
    pub busy: Leaf<BusyIntervals>,
    /// Records finished copies. Started by the first copy.
    pub copier: Ranked<GpuCopierRank, Option<(Sender<PartCopy>, BoundedThread)>>,
    /// Held while a lane is created. Only one at a time, because each may measure its kernels.
    pub making: Ranked<GpuMakingRank, ()>,
    /// Held by the one thread that starts the next work.
    pub driving: Ranked<GpuDrivingRank, ()>,
    /// Whether lanes had to copy samples because of a lack of memory, and this was reported.
    cramped: AtomicBool,
    workers: Ranked<GpuWorkersRank, HashMap<WorkerId, Arc<GpuWorker>>>,
    failed: Leaf<Vec<(LiveBatch, BatchError)>>,
    postponed: Leaf<Vec<LiveBatch>>,
    lost: OnceLock<GpuError>,
}

impl GpuContext {
    /// Opens the GPU of `info`, without workers.
    ///
    /// # Errors
    /// The GPU cannot be used.
    pub(super) fn open(info: &GpuInfo, networks: &ServedNetworks) -> Result<Self, BuildError> {
        let gpu = networks.factory.gpu(info)?;
        let copy_in = gpu.stream().map_err(ComputeError::from)?;
        Ok(GpuContext {
            copy_in,
            gpu,
            samples: Ranked::default(),
            busy: Leaf::default(),
            copier: Ranked::default(),
            making: Ranked::default(),
            driving: Ranked::default(),
            cramped: AtomicBool::new(false),
            workers: Ranked::default(),
            failed: Leaf::default(),
            postponed: Leaf::default(),
            lost: OnceLock::new(),
        })
    }

    /// Returns a worker, or `None` if it is not on the GPU.
    pub(super) fn worker(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        self.workers.lock().get(&id).cloned()
    }

    /// Adds a built worker. Returns `false` if the GPU was lost in the meantime.
    pub(super) fn keep(&self, worker: GpuWorker) -> bool {
        let mut workers = self.workers.lock();
        if self.is_lost() {
            return false;
        }
        workers.insert(worker.spec.id, Arc::new(worker));
        true
    }

    /// Removes a worker.
    pub(super) fn remove(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        self.workers.lock().remove(&id)
    }

    /// Leaves a failed batch to the dispatcher.
    pub(super) fn add_failed(&self, batch: LiveBatch, why: BatchError) {
        self.failed.lock().push((batch, why));
    }

    /// Takes the failed batches, each with the reason.
    pub(super) fn take_failed(&self) -> Vec<(LiveBatch, BatchError)> {
        std::mem::take(&mut *self.failed.lock())
    }

    /// Leaves the start of a batch to the dispatcher.
    pub(super) fn postpone(&self, batch: LiveBatch) {
        self.postponed.lock().push(batch);
    }

    /// Takes the batches for the dispatcher to start.
    pub(super) fn take_postponed(&self) -> Vec<LiveBatch> {
        std::mem::take(&mut *self.postponed.lock())
    }

    /// Returns whether the GPU is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Marks the GPU as lost. Returns `false` if it already was.
    pub(super) fn lose(&self, reason: GpuError) -> bool {
        self.lost.set(reason).is_ok()
    }

    /// Returns whether samples found no room for the first time.
    pub(super) fn becomes_cramped(&self) -> bool {
        !self.cramped.swap(true, Ordering::Relaxed)
    }

    /// Removes all workers, and returns the threads that are ending.
    pub(super) fn clear(&self) -> Vec<BoundedThread> {
        let workers = std::mem::take(&mut *self.workers.lock());
        let mut threads: Vec<_> = workers.values().flat_map(|w| w.disband()).collect();
        let copier = self.copier.lock().take();
        threads.extend(copier.map(|(_, thread)| thread));
        let memory = self.samples.lock().clear();
        drop(memory);
        threads
    }
}
