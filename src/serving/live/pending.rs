//! Requests as their callers hold them: staged, then pending until there is an outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar};
use std::time::Duration;

use crate::serving::batch::RequestKey;
use crate::serving::door::Refused;

use super::drivers::spin;
use super::locks::Leaf;
use super::promise::{Failure, Outcome};
use super::request::Request;
use super::state::EngineState;

/// Where a waiting thread finds its outcome.
#[derive(Default)]
struct OutcomeSlot {
    ready: AtomicBool,
    outcome: Leaf<Option<Outcome>>,
    changed: Condvar,
}

impl OutcomeSlot {
    fn put(&self, outcome: Outcome) {
        *self.outcome.lock() = Some(outcome);
        self.ready.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn take(&self) -> Outcome {
        loop {
            if let Some(outcome) = self.take_within(Duration::from_secs(3600)) {
                return outcome;
            }
        }
    }

    fn take_within(&self, time: Duration) -> Option<Outcome> {
        spin(|| self.ready.load(Ordering::Acquire));
        let outcome = self.outcome.lock();
        let mut waited =
            outcome.wait_timeout_while(&self.changed, time, |outcome| outcome.is_none());
        waited.take()
    }
}

/// A request under way. Dropped before its answer, it is cancelled.
pub struct Pending {
    slot: Arc<OutcomeSlot>,
    state: Arc<EngineState>,
    request: RequestKey,
    over: bool,
}

impl Pending {
    /// Waits for the outcome.
    pub fn wait(mut self) -> Outcome {
        self.over = true;
        self.slot.take()
    }

    /// Waits for the outcome for at most `time`; after it the request is still under way.
    pub fn wait_within(&mut self, time: Duration) -> Option<Outcome> {
        let outcome = self.slot.take_within(time);
        self.over |= outcome.is_some();
        outcome
    }

    /// Gives the request up: nothing of it is computed further than the batch it is in.
    pub fn cancel(self) {}
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.over {
            self.state.fail(self.request, &Failure::Cancelled);
        }
    }
}

/// A request whose samples are in the pool but in no queue yet. Dropping it frees its
/// slots.
pub struct Staged {
    slot: Arc<OutcomeSlot>,
    state: Arc<EngineState>,
    request: RequestKey,
    released: bool,
}

impl Staged {
    /// Lets a request in and writes its samples to the pool.
    pub(super) fn new(state: &Arc<EngineState>, request: Request<'_>) -> Result<Self, Refused> {
        let slot = Arc::<OutcomeSlot>::default();
        let reply = Arc::clone(&slot);
        let put = move |outcome| reply.put(outcome);
        Ok(Staged {
            slot,
            request: state.stage(request, Box::new(put))?,
            state: Arc::clone(state),
            released: false,
        })
    }

    /// Broadcasts it to the members' queues.
    pub fn release(mut self) -> Pending {
        self.released = true;
        self.state.release(self.request);
        Pending {
            slot: Arc::clone(&self.slot),
            state: Arc::clone(&self.state),
            request: self.request,
            over: false,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.released {
            let abandoned = self.state.core().abandon(self.request);
            if let Some(request) = abandoned {
                request.withdraw();
            }
        }
    }
}
