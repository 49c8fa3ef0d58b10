//! Devices that stop working while they serve: nothing more is started there, what ran there
//! is run by others, and whoever listens is told so that it moves the workers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::drivers::LossReason;
use super::locks::Leaf;

/// A device that stopped working while it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its number among the devices.
    pub device: usize,
    /// Why, as its driver said.
    pub reason: LossReason,
}

/// Who is told of a loss, in the thread that met with it: it must be quick.
pub(crate) type LossListener = Arc<dyn Fn(Loss) + Send + Sync>;

/// Losses that nobody has dealt with yet, and who wants to know.
#[derive(Default)]
pub(crate) struct Losses {
    state: Leaf<LossState>,
}

#[derive(Default)]
struct LossState {
    listener: Option<LossListener>,
    /// Told, and not evacuated.
    awaited: BTreeMap<usize, LossReason>,
}

impl Losses {
    /// Whether evacuations are still to come, so that members may be without workers.
    pub(super) fn are_awaited(&self) -> bool {
        let state = self.state.lock();
        state.listener.is_some() && !state.awaited.is_empty()
    }

    /// A device's loss is dealt with now; false where none was told.
    pub(super) fn take(&self, device: usize) -> bool {
        self.state.lock().awaited.remove(&device).is_some()
    }

    /// A loss that somebody must deal with. Returns who is to be told of it.
    pub(super) fn add(&self, loss: &Loss) -> Option<LossListener> {
        let mut state = self.state.lock();
        state.awaited.insert(loss.device, loss.reason.clone());
        state.listener.clone()
    }

    /// Tells `listener` of losses from now on. Returns those that nobody has dealt with.
    pub(super) fn listen(&self, listener: LossListener) -> Vec<Loss> {
        let (before, awaited) = {
            let mut state = self.state.lock();
            (state.listener.replace(listener), state.awaited.clone())
        };
        // Outside of the lock: nobody knows what it holds.
        drop(before);
        let loss = |(device, reason)| Loss { device, reason };
        awaited.into_iter().map(loss).collect()
    }

    /// Nobody wants to know any more.
    pub(super) fn silence(&self) {
        let before = self.state.lock().listener.take();
        drop(before);
    }
}
