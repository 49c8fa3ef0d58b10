//! A GPU's slot among the devices, with or without the GPU.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::serving::batch::WorkerId;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::gpu::{GpuError, GpuInfo};

use super::super::super::factory::BuildError;
use super::super::super::locks::{Leaf, SharedLeaf};
use super::super::driver::ServedNetworks;
use super::super::thread::{BoundedThread, ThreadWaker};
use super::context::GpuContext;

/// The longest wait for the lanes of a leaving worker. They are idle, or their batch was given up.
const LEAVING: Duration = Duration::from_secs(1);

/// A GPU's slot among the devices, with or without the GPU.
pub(in super::super) struct GpuSlot {
    /// The number of the device.
    pub(super) device: DeviceIndex,
    pub(super) name: String,
    pub(super) info: Arc<GpuInfo>,
    pub(super) networks: ServedNetworks,
    /// Wakes the dispatcher.
    pub(super) waker: ThreadWaker,
    state: SharedLeaf<SlotState>,
    /// Threads that are ending, as soon as the GPU releases them.
    threads: Leaf<Vec<BoundedThread>>,
}

enum SlotState {
    Open(Arc<GpuContext>),
    Lost(GpuError),
    Stopped,
}

impl GpuSlot {
    /// Opens the GPU of `info` as `device`.
    ///
    /// # Errors
    /// The GPU cannot be used.
    pub(crate) fn open(
        device: DeviceIndex,
        name: &str,
        info: &Arc<GpuInfo>,
        networks: &ServedNetworks,
    ) -> Result<Self, BuildError> {
        let context = GpuContext::open(info, networks)?;
        Ok(GpuSlot {
            device,
            name: name.to_owned(),
            info: Arc::clone(info),
            networks: networks.clone(),
            waker: ThreadWaker::default(),
            state: SharedLeaf::new(SlotState::Open(Arc::new(context))),
            threads: Leaf::default(),
        })
    }

    /// Returns the GPU, or `None` if it is lost.
    pub(super) fn context(&self) -> Option<Arc<GpuContext>> {
        match &*self.state.read() {
            SlotState::Open(context) => Some(Arc::clone(context)),
            SlotState::Lost(_) | SlotState::Stopped => None,
        }
    }

    /// Returns the reason of the loss, or `None`.
    pub(super) fn reason(&self) -> Option<GpuError> {
        match &*self.state.read() {
            SlotState::Lost(reason) => Some(reason.clone()),
            SlotState::Open(_) | SlotState::Stopped => None,
        }
    }

    /// Removes all workers from a lost GPU.
    pub(super) fn close(&self, context: &Arc<GpuContext>, reason: &GpuError) {
        {
            let mut state = self.state.write();
            if matches!(&*state, SlotState::Open(open) if Arc::ptr_eq(open, context)) {
                *state = SlotState::Lost(reason.clone());
            }
        }
        self.watch_over(context.clear());
    }

    /// Opens the GPU again, without workers.
    ///
    /// # Errors
    /// The GPU cannot be used.
    pub(super) fn open_again(&self) -> Result<(), BuildError> {
        let context = GpuContext::open(&self.info, &self.networks)?;
        let open = SlotState::Open(Arc::new(context));
        let before = std::mem::replace(&mut *self.state.write(), open);
        // Dropped without the lock, because this may be the last reference to a GPU.
        drop(before);
        Ok(())
    }

    /// Removes a worker. Its memory is free on return, unless the GPU hangs.
    pub(super) fn forget(&self, id: WorkerId) {
        let Some(context) = self.context() else {
            return;
        };
        if let Some(worker) = context.remove(id) {
            self.await_all(worker.disband(), LEAVING);
        }
    }

    /// Removes all workers permanently, and waits at most `limit` for them.
    pub(super) fn leave(&self, limit: Duration) {
        let context = self.vacate();
        if let Some(context) = &context {
            // No more workers are built there.
            context.lose(GpuError::Other("the system was stopped".into()));
        }
        let mut threads = std::mem::take(&mut *self.threads.lock());
        threads.extend(context.iter().flat_map(|c| c.clear()));
        self.await_all(threads, limit);
    }

    /// Takes the GPU out of its slot permanently, or returns `None` if it is lost.
    fn vacate(&self) -> Option<Arc<GpuContext>> {
        let mut state = self.state.write();
        let SlotState::Open(context) = &*state else {
            return None;
        };
        let context = Arc::clone(context);
        *state = SlotState::Stopped;
        Some(context)
    }

    /// Waits for ending threads, and keeps those that do not end in time.
    fn await_all(&self, threads: Vec<BoundedThread>, time: Duration) {
        let limit = Instant::now() + time;
        let hang = threads.into_iter().filter_map(|t| t.join_until(limit));
        self.watch_over(hang.collect());
    }

    /// Keeps threads until they end.
    pub(super) fn watch_over(&self, more: Vec<BoundedThread>) {
        let mut threads = self.threads.lock();
        threads.retain(BoundedThread::goes_on);
        threads.extend(more);
    }
}
