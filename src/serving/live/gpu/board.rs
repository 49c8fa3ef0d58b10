//! A GPU as the engine holds it: opened, with its workers, its pool of samples and its
//! copies, until it is lost or the engine stops.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::device::gpu::{Gpu, GpuError, HostSlice, PinnedBlock, Stream};
use crate::lock::lock;
use crate::serving::batch::{Slice, WorkerId};

use super::super::shared::EngineState;
use super::LiveBatch;
use super::copier::Copying;
use super::cover::BusyIntervals;
use super::crew::GpuWorker;
use super::dispatch::run;
use super::hand::BoundedThread;
use super::pool::SampleCache;

/// Waited at most for the lanes of a worker that leaves: they are idle, or their batch was
/// given up.
const LEAVING: Duration = Duration::from_secs(1);

/// A GPU's place among the devices, whether it is there or not.
pub struct GpuSlot {
    device: usize,
    /// How long threads are waited for when the engine stops.
    patience: Duration,
    opened: RwLock<Option<Arc<GpuContext>>>,
    /// Why it is not there.
    lost: Mutex<Option<GpuError>>,
    /// Threads that end once the GPU lets them.
    hands: Mutex<Vec<BoundedThread>>,
}

/// A GPU that is there.
pub struct GpuContext {
    pub(super) device: usize,
    pub(super) gpu: Arc<dyn Gpu>,
    pub(super) copy_in: Arc<dyn Stream>,
    pub(super) pool: Mutex<SampleCache>,
    pub(super) busy: Mutex<BusyIntervals>,
    pub(super) copier: Mutex<Option<(Sender<Copying>, BoundedThread)>>,
    /// Lanes are made one at a time: each may measure what suits it.
    pub(super) making: Mutex<()>,
    /// Samples were copied by lanes for want of memory, and somebody was told.
    pub(super) cramped: AtomicBool,
    crews: Mutex<HashMap<WorkerId, Arc<GpuWorker>>>,
    failed: Mutex<Vec<(LiveBatch, String)>>,
    postponed: Mutex<Vec<LiveBatch>>,
    /// One thread at a time starts what comes next.
    pub(super) driving: Mutex<()>,
    lost: OnceLock<GpuError>,
}

impl GpuContext {
    /// `gpu` with nobody on it.
    ///
    /// # Errors
    /// The driver gives no stream.
    pub fn new(device: usize, gpu: Arc<dyn Gpu>) -> Result<Self, GpuError> {
        Ok(GpuContext {
            device,
            copy_in: gpu.stream()?,
            gpu,
            pool: Mutex::default(),
            busy: Mutex::default(),
            copier: Mutex::default(),
            making: Mutex::default(),
            cramped: AtomicBool::new(false),
            crews: Mutex::default(),
            failed: Mutex::default(),
            postponed: Mutex::default(),
            driving: Mutex::default(),
            lost: OnceLock::new(),
        })
    }

    /// A worker's lanes, while it is there.
    pub fn crew(&self, id: WorkerId) -> Option<Arc<GpuWorker>> {
        lock(&self.crews).get(&id).cloned()
    }

    /// A worker was built; false where the GPU was lost meanwhile.
    pub fn keep(&self, id: WorkerId, crew: GpuWorker) -> bool {
        let mut crews = lock(&self.crews);
        if self.is_lost() {
            return false;
        }
        crews.insert(id, Arc::new(crew));
        true
    }

    /// A batch was not answered; the dispatcher says what becomes of its worker.
    pub fn fail(&self, batch: LiveBatch, why: String) {
        lock(&self.failed).push((batch, why));
    }

    /// Batches that were not answered, each with the reason.
    pub fn take_failed(&self) -> Vec<(LiveBatch, String)> {
        std::mem::take(&mut *lock(&self.failed))
    }

    /// A batch is started by the dispatcher.
    pub fn postpone(&self, batch: LiveBatch) {
        lock(&self.postponed).push(batch);
    }

    /// Batches that the dispatcher starts.
    pub fn take_postponed(&self) -> Vec<LiveBatch> {
        std::mem::take(&mut *lock(&self.postponed))
    }

    /// Whether it stopped working.
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// It stopped working; false where that was known.
    pub fn lose(&self, reason: GpuError) -> bool {
        self.lost.set(reason).is_ok()
    }

    /// Whether this is the first time that samples find no room.
    pub fn becomes_cramped(&self) -> bool {
        !self.cramped.swap(true, Ordering::Relaxed)
    }

    /// Samples of the pool where a copy engine can read them: where they lie, or copied
    /// once more where the pool's memory could not be locked.
    pub fn host_slice(
        &self,
        shared: &EngineState,
        slice: Slice,
        transform: usize,
    ) -> Result<HostSlice, GpuError> {
        if let Some(there) = shared.storage.host_slice(slice, transform) {
            return Ok(there);
        }
        let floats = slice.len * shared.storage.width(transform);
        let mut block: PinnedBlock = self.gpu.pinned(floats)?;
        shared.storage.read_as(slice, transform, block.values_mut());
        Ok(block.slice(0, floats))
    }

    /// Page-locked memory, if the host has some.
    pub fn pinned(&self, floats: usize) -> Option<PinnedBlock> {
        self.gpu.pinned(floats).ok()
    }

    /// Takes everybody off it: gives the threads that end now.
    fn clear(&self) -> Vec<BoundedThread> {
        let crews = std::mem::take(&mut *lock(&self.crews));
        let mut hands: Vec<BoundedThread> = crews.values().flat_map(|c| c.disband()).collect();
        let copier = lock(&self.copier).take();
        hands.extend(copier.map(|(_, hand)| hand));
        let memory = lock(&self.pool).clear();
        drop(memory);
        hands
    }
}

impl GpuSlot {
    /// A GPU that is there; `patience` is how long its threads are waited for in the end.
    pub fn new(device: usize, opened: GpuContext, patience: Duration) -> Self {
        GpuSlot {
            device,
            patience,
            opened: RwLock::new(Some(Arc::new(opened))),
            lost: Mutex::default(),
            hands: Mutex::default(),
        }
    }

    /// The GPU, while it is there.
    pub fn opened(&self) -> Option<Arc<GpuContext>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.clone()
    }

    /// Why it is not there.
    pub fn loss(&self) -> Option<GpuError> {
        lock(&self.lost).clone()
    }

    /// It stopped working: everybody leaves it.
    pub fn close(&self, opened: &Arc<GpuContext>, reason: GpuError) {
        *lock(&self.lost) = Some(reason);
        {
            let mut now = self.opened.write().unwrap_or_else(PoisonError::into_inner);
            now.take_if(|o| Arc::ptr_eq(o, opened));
        }
        self.watch_over(opened.clear());
    }

    /// It is there again, with nobody on it.
    pub fn reopen(&self, opened: GpuContext) {
        let mut now = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        *now = Some(Arc::new(opened));
        *lock(&self.lost) = None;
    }

    /// Its number among the devices.
    pub fn device(&self) -> usize {
        self.device
    }

    /// A worker leaves; its memory is free when this returns, unless it hangs.
    pub fn forget(&self, id: WorkerId) {
        let Some(opened) = self.opened() else { return };
        let crew = lock(&opened.crews).remove(&id);
        if let Some(crew) = crew {
            self.await_all(crew.disband(), LEAVING);
        }
    }

    /// Everybody leaves, for good; waits for them within bounds.
    pub fn stop(&self) {
        let opened = {
            let mut now = self.opened.write().unwrap_or_else(PoisonError::into_inner);
            now.take()
        };
        if let Some(opened) = &opened {
            // Nobody is built there any more.
            opened.lose(GpuError::Other("the system was stopped".into()));
        }
        let mut hands = std::mem::take(&mut *lock(&self.hands));
        hands.extend(opened.iter().flat_map(|o| o.clear()));
        self.await_all(hands, self.patience);
    }

    /// Waits for threads that are about to end; keeps those that do not.
    fn await_all(&self, hands: Vec<BoundedThread>, time: Duration) {
        let limit = Instant::now() + time;
        let hang = hands.into_iter().filter_map(|h| h.join_until(limit));
        self.watch_over(hang.collect());
    }

    /// Starts its dispatcher.
    pub fn start(self: &Arc<Self>, shared: &Arc<EngineState>) -> std::io::Result<Thread> {
        let (board, sharing) = (Arc::clone(self), Arc::clone(shared));
        let name = shared.devices.get(self.device).name.clone();
        let hand = BoundedThread::start(name, move || run(&sharing, &board))?;
        let thread = hand.thread().clone();
        self.watch_over(vec![hand]);
        Ok(thread)
    }

    fn watch_over(&self, more: Vec<BoundedThread>) {
        let mut hands = lock(&self.hands);
        hands.retain(BoundedThread::goes_on);
        hands.extend(more);
    }
}
