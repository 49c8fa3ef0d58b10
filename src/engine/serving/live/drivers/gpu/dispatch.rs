//! A GPU's dispatcher: starts batches in their lanes and copies ahead, as decided by the core. A
//! free lane does the same at once instead of waking the dispatcher, and leaves it only work that
//! waits for the end of threads.

use std::sync::Arc;
use std::time::Duration;

use crate::serving::batch::Transfer;
use crate::serving::core::Next;

use super::super::super::request::{LiveBatch, LiveNext};
use super::super::driver::{BatchError, DriverHost, TransferPlace};
use super::serving::ServingGpu;
use super::slot::GpuSlot;

/// Serves until the engine stops.
pub(super) fn serve(slot: &Arc<GpuSlot>, host: &Arc<dyn DriverHost>) {
    while !host.is_stopping() {
        let until = slot.context().and_then(|context| {
            let gpu = ServingGpu {
                slot: Arc::clone(slot),
                context,
                host: Arc::clone(host),
            };
            gpu.take_turn()
        });
        slot.waker.sleep(host.as_ref(), until);
    }
}

/// The thread that starts batches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallingThread {
    Dispatcher,
    Lane,
}

impl ServingGpu {
    fn take_turn(&self) -> Option<Duration> {
        for (batch, why) in self.context.take_failed() {
            // The batches of a lost GPU have returned to the queues.
            if !self.context.is_lost() {
                Arc::clone(&self.host).worker_failed(&batch, &why);
            }
        }
        for batch in self.context.take_postponed() {
            self.start(batch, CallingThread::Dispatcher);
        }
        let _alone = self.context.driving.lock();
        self.drive(CallingThread::Dispatcher)
    }

    /// Starts the next work after a batch, in the lane's thread. Leaves it to the dispatcher if
    /// that is already active.
    pub(super) fn go_on(&self) {
        let until = match self.context.driving.try_lock() {
            Some(_alone) => self.drive(CallingThread::Lane),
            None => Some(Duration::ZERO),
        };
        if until.is_some() {
            // The dispatcher must set a timer.
            self.slot.waker.wake();
        }
    }

    /// Starts all work with room. Returns the time of the next check if nothing happens.
    fn drive(&self, caller: CallingThread) -> Option<Duration> {
        loop {
            let (next, transfers) = self.ask();
            match next {
                Next::Run(batch) => self.start(batch, caller),
                Next::Copy(_) => {
                    for (transfer, place) in transfers {
                        self.copy_ahead(transfer, place);
                    }
                }
                Next::Sleep(until) => return until,
            }
        }
    }

    /// Returns the core's decision and the slots of samples to copy. Places in the cache are taken
    /// and freed under the core's lock, in the order of its decisions.
    fn ask(&self) -> (LiveNext, Vec<(Transfer, TransferPlace)>) {
        let (mut freed, mut transfers) = (Vec::new(), Vec::new());
        let next = self.host.turn(self.slot.device, &mut |turn| {
            let mut samples = self.context.samples.lock();
            freed = samples.let_go(turn.departed());
            transfers = turn.transfers();
            for (transfer, _) in &transfers {
                samples.expect(transfer.part);
            }
        });
        // Dropped without any lock.
        drop(freed);
        (next, transfers)
    }

    fn start(&self, batch: LiveBatch, caller: CallingThread) {
        let given = match self.context.worker(batch.worker) {
            None => Err((batch, BatchError::NoWorker)),
            Some(worker) if caller == CallingThread::Lane && !worker.suits(&batch) => {
                // Old lanes must end first, and this thread may be one of them.
                self.context.postpone(batch);
                return self.slot.waker.wake();
            }
            Some(worker) => self.hand_over(&worker, batch),
        };
        if let Err((batch, why)) = given {
            self.fail(batch, why);
        }
    }
}
