//! A GPU that is there: open, with its workers, its samples and its copies.

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

/// A GPU that is there.
pub(super) struct GpuContext {
    pub gpu: Arc<dyn Gpu>,
    /// Samples travel on it ahead of their batches.
    pub copy_in: Arc<dyn Stream>,
    pub samples: Ranked<GpuSamplesRank, SampleCache>,
    pub busy: Leaf<BusyIntervals>,
    /// Notes what was copied ahead; started by the first copy.
    pub copier: Ranked<GpuCopierRank, Option<(Sender<PartCopy>, BoundedThread)>>,
    /// Lanes are made one at a time: each may measure what suits it.
    pub making: Ranked<GpuMakingRank, ()>,
    /// One thread at a time starts what comes next.
    pub driving: Ranked<GpuDrivingRank, ()>,
    /// Samples were copied by lanes for want of memory, and somebody was told.
    cramped: AtomicBool,
    workers: Ranked<GpuWorkersRank, HashMap<WorkerId, Arc<GpuWorker>>>,
    failed: Leaf<Vec<(LiveBatch, BatchError)>>,
    postponed: Leaf<Vec<LiveBatch>>,
    lost: OnceLock<GpuError>,
}

impl GpuContext {
    /// Opens the GPU that `info` names, with nobody on it.
    ///
    /// # Errors
    /// It cannot be used.
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

    /// Returns a worker while it is there.
    pub(super) fn worker(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        self.workers.lock().get(&id).cloned()
    }

    /// Keeps a worker that was built; false where the GPU was lost meanwhile.
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

    /// Leaves a batch that was not answered to the dispatcher.
    pub(super) fn add_failed(&self, batch: LiveBatch, why: BatchError) {
        self.failed.lock().push((batch, why));
    }

    /// Takes the batches that were not answered, each with the reason.
    pub(super) fn take_failed(&self) -> Vec<(LiveBatch, BatchError)> {
        std::mem::take(&mut *self.failed.lock())
    }

    /// Leaves a batch to the dispatcher to start.
    pub(super) fn postpone(&self, batch: LiveBatch) {
        self.postponed.lock().push(batch);
    }

    /// Takes the batches that the dispatcher starts.
    pub(super) fn take_postponed(&self) -> Vec<LiveBatch> {
        std::mem::take(&mut *self.postponed.lock())
    }

    /// Whether it stopped working.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Marks it as lost; false where that was known.
    pub(super) fn lose(&self, reason: GpuError) -> bool {
        self.lost.set(reason).is_ok()
    }

    /// Whether this is the first time that samples find no room.
    pub(super) fn becomes_cramped(&self) -> bool {
        !self.cramped.swap(true, Ordering::Relaxed)
    }

    /// Takes everybody off it, and returns the threads that end now.
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
