//! A GPU's dispatcher: starts batches in their lanes and copies ahead, as the core says.
//! A lane that has become free does the same at once, rather than wake the dispatcher; what
//! waits for threads to end is left to the dispatcher.

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

/// Who starts batches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallingThread {
    Dispatcher,
    Lane,
}

impl ServingGpu {
    fn take_turn(&self) -> Option<Duration> {
        for (batch, why) in self.context.take_failed() {
            // Batches of a GPU that is lost went back to the queues.
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

    /// Does what comes after a batch, in the thread of its lane; leaves it to the dispatcher
    /// where that is at it already.
    pub(super) fn go_on(&self) {
        let until = match self.context.driving.try_lock() {
            Some(_alone) => self.drive(CallingThread::Lane),
            None => Some(Duration::ZERO),
        };
        if until.is_some() {
            // Somebody must look at the time.
            self.slot.waker.wake();
        }
    }

    /// Starts what there is room for, and returns when to look again if nothing happens.
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

    /// Returns what the core says, and where the samples to be copied lie. Places in the
    /// cache are taken and given back under the core's lock, in the order in which it
    /// decided.
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
        // Outside of all locks.
        drop(freed);
        (next, transfers)
    }

    fn start(&self, batch: LiveBatch, caller: CallingThread) {
        let given = match self.context.worker(batch.worker) {
            None => Err((batch, BatchError::NoWorker)),
            Some(worker) if caller == CallingThread::Lane && !worker.suits(&batch) => {
                // Old lanes must end first, and this may be one of them.
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
