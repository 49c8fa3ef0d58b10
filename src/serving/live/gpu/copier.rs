//! Samples travel to a GPU's memory before a lane takes them: queued on one stream by the
//! dispatcher, noted by a thread as they arrive.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use crate::device::gpu::{DeviceSlice, Event, GpuError};
use crate::lock::lock;
use crate::serving::batch::{Slice, Transfer};
use crate::serving::spans::transfer_span;

use super::super::shared::EngineState;
use super::super::worker::since;
use super::board::GpuContext;
use super::hand::BoundedThread;
use super::loss::lose;

/// A part on its way.
pub struct Copying {
    transfer: Transfer,
    begun: Arc<dyn Event>,
    done: Arc<dyn Event>,
    /// Kept until it is there, whatever becomes of the request.
    memory: DeviceSlice,
}

/// Starts to copy a part. Where there is no room for it, lanes copy its samples for
/// themselves.
pub(super) fn copy_ahead(
    shared: &Arc<EngineState>,
    opened: &Arc<GpuContext>,
    transfer: Transfer,
    slice: Option<Slice>,
) {
    // Its request is over already: nobody needs it.
    let Some(slice) = slice else { return };
    let sent =
        queue(shared, opened, transfer, slice).and_then(|copying| send(shared, opened, copying));
    match sent {
        Ok(()) => {}
        Err(reason) if reason.is_lost() => lose(shared, opened.device, opened, reason),
        Err(reason) => do_without(shared, opened, &transfer, &reason),
    }
}

fn queue(
    shared: &Arc<EngineState>,
    opened: &Arc<GpuContext>,
    transfer: Transfer,
    slice: Slice,
) -> Result<Copying, GpuError> {
    let from = opened.host_slice(shared, slice, transfer.part.transform)?;
    let memory = DeviceSlice::whole(opened.gpu.allocate(from.bytes())?);
    let begun = opened.copy_in.record()?;
    opened
        .copy_in
        .copy_in(&from, &memory.part(0, from.bytes()))?;
    let done = opened.copy_in.record()?;
    Ok(Copying {
        transfer,
        begun,
        done,
        memory,
    })
}

fn send(
    shared: &Arc<EngineState>,
    opened: &Arc<GpuContext>,
    copying: Copying,
) -> Result<(), GpuError> {
    let mut copier = lock(&opened.copier);
    let (inbox, _) = match copier.as_ref() {
        Some(copier) => copier,
        None => copier.insert(start(shared, opened)?),
    };
    let ended = |_| GpuError::Other("its copier ended".into());
    inbox.send(copying).map_err(ended)
}

fn start(
    shared: &Arc<EngineState>,
    opened: &Arc<GpuContext>,
) -> Result<(Sender<Copying>, BoundedThread), GpuError> {
    let (inbox, copies) = channel();
    let (sharing, open) = (Arc::clone(shared), Arc::clone(opened));
    let name = format!("{} copies", shared.devices.get(opened.device).name);
    let hand = BoundedThread::start(name, move || note_all(&sharing, &open, &copies))
        .map_err(|e| GpuError::Other(format!("a thread could not be started: {e}")))?;
    Ok((inbox, hand))
}

fn note_all(shared: &Arc<EngineState>, opened: &Arc<GpuContext>, copies: &Receiver<Copying>) {
    for copying in copies {
        match copying.done.wait() {
            Ok(()) => note(shared, opened, copying),
            Err(reason) if reason.is_lost() => lose(shared, opened.device, opened, reason),
            Err(reason) => do_without(shared, opened, &copying.transfer, &reason),
        }
    }
}

/// A part is there.
fn note(shared: &Arc<EngineState>, opened: &GpuContext, copying: Copying) {
    let now = Instant::now();
    let when = |event: &Arc<dyn Event>| {
        let at = event.happened().unwrap_or(now).min(now);
        since(shared.start, at)
    };
    let there = when(&copying.done);
    let begun = when(&copying.begun).min(there);
    let transfer = copying.transfer;
    lock(&opened.pool).fill(transfer.part, copying.memory);
    shared.core().copied(there, opened.device, transfer.part);
    let span = transfer_span(&transfer, begun, there);
    shared.lanes[opened.device].spans.push(&[span]);
    shared.poke(&[opened.device]);
}

/// A part is not copied: whoever runs its samples does that.
fn do_without(
    shared: &Arc<EngineState>,
    opened: &GpuContext,
    transfer: &Transfer,
    reason: &GpuError,
) {
    if opened.becomes_cramped() {
        let name = &shared.devices.get(opened.device).name;
        shared.notice(format!(
            "warning: `{name}`: samples are not copied ahead: {reason}"
        ));
    }
    lock(&opened.pool).spoil(transfer.part);
    let now = shared.now();
    shared.core().copied(now, opened.device, transfer.part);
    shared.poke(&[opened.device]);
}
