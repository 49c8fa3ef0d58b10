//! A GPU's dispatcher: starts batches in their lanes and copies ahead, as the core says.
//! A lane that has become free does the same at once, rather than wake the dispatcher; what
//! waits for threads to end is left to the dispatcher.

use std::sync::Arc;
use std::time::Duration;

use crate::lock::lock;
use crate::serving::batch::{Slice, Transfer};
use crate::serving::core::Next;

use super::super::client::RequestData;
use super::super::partition::{failed, sleep};
use super::super::shared::EngineState;
use super::LiveBatch;
use super::board::{GpuContext, GpuSlot};
use super::copier::copy_ahead;

type Step = (Next<Arc<RequestData>>, Vec<(Transfer, Option<Slice>)>);

/// Serves until the engine stops.
pub(in super::super) fn run(shared: &Arc<EngineState>, board: &GpuSlot) {
    let device = board.device();
    while !shared.is_stopping() {
        let until = match board.opened() {
            Some(opened) => turn(shared, &opened),
            None => None,
        };
        sleep(shared, device, until);
    }
}

fn turn(shared: &Arc<EngineState>, opened: &Arc<GpuContext>) -> Option<Duration> {
    for (batch, why) in opened.take_failed() {
        // Batches of a GPU that is lost went back to the queues.
        if !opened.is_lost() {
            failed(shared, &batch, &why);
        }
    }
    for batch in opened.take_postponed() {
        start(shared, opened, batch, By::Dispatcher);
    }
    let _alone = lock(&opened.driving);
    drive(shared, opened, By::Dispatcher)
}

/// Who starts batches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Dispatcher,
    Lane,
}

/// What comes after a batch, in the thread of its lane; left to the dispatcher where that
/// is at it already.
pub(super) fn go_on(shared: &Arc<EngineState>, opened: &Arc<GpuContext>) {
    let until = match opened.driving.try_lock() {
        Ok(_alone) => drive(shared, opened, By::Lane),
        Err(_) => Some(Duration::ZERO),
    };
    if until.is_some() {
        // Somebody must look at the time.
        shared.poke(&[opened.device]);
    }
}

/// Starts what there is room for; gives when to look again if nothing happens.
fn drive(shared: &Arc<EngineState>, opened: &Arc<GpuContext>, by: By) -> Option<Duration> {
    loop {
        let (next, parts) = ask(shared, opened);
        match next {
            Next::Run(batch) => start(shared, opened, batch, by),
            Next::Copy(_) => {
                for (transfer, slice) in parts {
                    copy_ahead(shared, opened, transfer, slice);
                }
            }
            Next::Sleep(until) => return until,
        }
    }
}

/// What the core says, and where the samples to be copied lie. Places in the pool are
/// taken and given back under the core's lock, in the order in which it decided.
fn ask(shared: &EngineState, opened: &GpuContext) -> Step {
    let (mut core, now) = (shared.core(), shared.now());
    let next = core.next(now, opened.device);
    let woken = core.wake_others(now);
    let departed = core.take_departed(opened.device);
    let mut pool = lock(&opened.pool);
    let freed = pool.let_go(&departed);
    let mut parts = Vec::new();
    if let Next::Copy(transfers) = &next {
        for &transfer in transfers {
            pool.expect(transfer.part);
            parts.push((transfer, core.slice_of(transfer.part)));
        }
    }
    drop((pool, core));
    drop(freed);
    shared.poke(&woken);
    (next, parts)
}

/// Frees what parts took that have left.
pub(in super::super) fn sweep(shared: &EngineState, opened: &GpuContext) {
    let freed = {
        let mut core = shared.core();
        let departed = core.take_departed(opened.device);
        match departed.is_empty() {
            true => Vec::new(),
            false => lock(&opened.pool).let_go(&departed),
        }
    };
    drop(freed);
}

fn start(shared: &Arc<EngineState>, opened: &Arc<GpuContext>, batch: LiveBatch, by: By) {
    let given = match opened.crew(batch.worker) {
        None => Err((batch, "its worker was not there".into())),
        Some(crew) if by == By::Lane && !crew.suits(&batch) => {
            // Old lanes must end first, and this may be one of them.
            opened.postpone(batch);
            return shared.poke(&[opened.device]);
        }
        Some(crew) => crew.give(shared, opened, batch),
    };
    if let Err((batch, why)) = given {
        opened.fail(batch, why);
        shared.poke(&[opened.device]);
    }
}
