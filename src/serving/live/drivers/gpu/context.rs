//! A GPU that is there: open, with its workers, its samples and its copies.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock};

use crate::compute::ComputeError;
use crate::device::gpu::{Gpu, GpuError, GpuInfo, Stream};
use crate::lock::lock;
use crate::serving::batch::WorkerId;

use super::super::super::factory::BuildError;
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
    pub samples: Mutex<SampleCache>,
    pub busy: Mutex<BusyIntervals>,
    /// Notes what was copied ahead; started by the first copy.
    pub copier: Mutex<Option<(Sender<PartCopy>, BoundedThread)>>,
    /// Lanes are made one at a time: each may measure what suits it.
    pub making: Mutex<()>,
    /// One thread at a time starts what comes next.
    pub driving: Mutex<()>,
    /// Samples were copied by lanes for want of memory, and somebody was told.
    cramped: AtomicBool,
    workers: Mutex<HashMap<WorkerId, Arc<GpuWorker>>>,
    failed: Mutex<Vec<(LiveBatch, BatchError)>>,
    postponed: Mutex<Vec<LiveBatch>>,
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
            samples: Mutex::default(),
            busy: Mutex::default(),
            copier: Mutex::default(),
            making: Mutex::default(),
            driving: Mutex::default(),
            cramped: AtomicBool::new(false),
            workers: Mutex::default(),
            failed: Mutex::default(),
            postponed: Mutex::default(),
            lost: OnceLock::new(),
        })
    }

    /// Returns a worker while it is there.
    pub(super) fn worker(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        lock(&self.workers).get(&id).cloned()
    }

    /// Keeps a worker that was built; false where the GPU was lost meanwhile.
    pub(super) fn keep(&self, worker: GpuWorker) -> bool {
        let mut workers = lock(&self.workers);
        if self.is_lost() {
            return false;
        }
        workers.insert(worker.spec.id, Arc::new(worker));
        true
    }

    /// Removes a worker.
    pub(super) fn remove(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        lock(&self.workers).remove(&id)
    }

    /// Leaves a batch that was not answered to the dispatcher.
    pub(super) fn add_failed(&self, batch: LiveBatch, why: BatchError) {
        lock(&self.failed).push((batch, why));
    }

    /// Takes the batches that were not answered, each with the reason.
    pub(super) fn take_failed(&self) -> Vec<(LiveBatch, BatchError)> {
        std::mem::take(&mut *lock(&self.failed))
    }

    /// Leaves a batch to the dispatcher to start.
    pub(super) fn postpone(&self, batch: LiveBatch) {
        lock(&self.postponed).push(batch);
    }

    /// Takes the batches that the dispatcher starts.
    pub(super) fn take_postponed(&self) -> Vec<LiveBatch> {
        std::mem::take(&mut *lock(&self.postponed))
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
        let workers = std::mem::take(&mut *lock(&self.workers));
        let mut threads: Vec<_> = workers.values().flat_map(|w| w.disband()).collect();
        let copier = lock(&self.copier).take();
        threads.extend(copier.map(|(_, thread)| thread));
        let memory = lock(&self.samples).clear();
        drop(memory);
        threads
    }
}
