//! A simulated device in real time: the same executor that virtual time drives, whose
//! events happen when their time has come.

use std::sync::Arc;
use std::time::Duration;

use crate::compute::constant_row;
use crate::lock::lock;
use crate::serving::batch::Batch;
use crate::serving::core::{Next, Stamps};
use crate::serving::simulated::{Happened, SimulatedDevice};
use crate::serving::spans::{batch_spans, transfer_span};
use crate::trace::Span;

use super::client::RequestData;
use super::partition::sleep;
use super::shared::EngineState;
use super::worker::fold;

type LiveBatch = Batch<Arc<RequestData>>;
type Device = SimulatedDevice<Arc<RequestData>>;

/// What befalls a simulated device from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DeviceFault {
    /// It is gone, with all it was doing.
    Lost,
    /// Its operations take so many times as long.
    Slowed(f64),
}

/// Serves until the engine stops.
pub(super) fn run(shared: &Arc<EngineState>, index: usize) {
    let mut device = Device::new(index, Arc::clone(&shared.costs));
    while !shared.is_stopping() {
        for fate in std::mem::take(&mut *lock(&shared.lanes[index].fates)) {
            match fate {
                DeviceFault::Lost => device.clear(),
                DeviceFault::Slowed(factor) => device.set_slowdown(factor),
            }
        }
        for (at, happened) in device.advance(shared.now()) {
            note(shared, index, at, happened);
        }
        let until = drive(shared, index, &mut device);
        let next = until.into_iter().chain(device.foresee()).min();
        sleep(shared, index, next);
    }
}

/// Starts what there is room for; gives when to look again if nothing happens.
fn drive(shared: &EngineState, index: usize, device: &mut Device) -> Option<Duration> {
    loop {
        let now = shared.now();
        if !lock(&shared.lanes[index].fates).is_empty() {
            // It must not start anything that the fate would then take away.
            return Some(now);
        }
        match shared.next(index) {
            Next::Run(batch) => device.start(now, batch),
            Next::Copy(transfers) => {
                for transfer in transfers {
                    device.copy(now, transfer);
                }
            }
            Next::Sleep(until) => return until,
        }
    }
}

fn note(shared: &EngineState, index: usize, at: Duration, happened: Happened<Arc<RequestData>>) {
    match happened {
        Happened::Copied(transfer, asked) => {
            shared.core().copied(at, index, transfer.part);
            shared.lanes[index]
                .spans
                .push(&[transfer_span(&transfer, asked, at)]);
        }
        Happened::Done(batch, stamps) => done(shared, &batch, stamps),
    }
}

/// Answers with the member's constant: what a simulated device gives means nothing,
/// but it takes the way that answers take.
fn done(shared: &EngineState, batch: &LiveBatch, stamps: Stamps) {
    if !shared.core().fold(batch) {
        return;
    }
    let classes = shared.ensemble.classes;
    let rows = constant_row(batch.member, classes).repeat(batch.samples);
    if let Err(why) = fold(batch, &rows, classes, false) {
        return shared.spoil(batch, &why);
    }
    let end = shared.now();
    let finished = shared.core().finish(end, batch, stamps);
    let spans: Vec<Span> = batch_spans(batch, &stamps, end).collect();
    shared.lanes[batch.device].spans.push(&spans);
    shared.deliver(finished);
}
