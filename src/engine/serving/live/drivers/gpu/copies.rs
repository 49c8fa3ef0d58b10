//! Copies samples to a GPU's memory before a lane needs them. The dispatcher queues the copies on
//! one stream, and a thread records their ends.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use crate::serving::batch::{Slice, Transfer};
use crate::serving::core::transfer_span;
use crate::serving::events::EngineEvent;
use divisi_runtime::device::gpu::{DeviceSlice, Event, GpuError};

use super::super::super::request::RequestData;
use super::super::driver::TransferPlace;
use super::super::thread::BoundedThread;
use super::cache::PartCopy;
use super::serving::ServingGpu;

impl ServingGpu {
    /// Starts the copy of a part. Without memory for it, lanes copy its samples themselves.
    pub(super) fn copy_ahead(&self, transfer: Transfer, place: TransferPlace) {
        // Its request is already over.
        let Some((slice, request)) = place else {
            return;
        };
        let queued = self.queue_copy(transfer, slice, &request);
        match queued.and_then(|copy| self.send_to_copier(copy)) {
            Ok(()) => {}
            Err(reason) if reason.is_lost() => self.lose(&reason),
            Err(reason) => self.do_without(&transfer, &reason),
        }
    }

    fn queue_copy(
        &self,
        transfer: Transfer,
        slice: Slice,
        request: &RequestData,
    ) -> Result<PartCopy, GpuError> {
        let (part, plane) = (transfer.part.part, transfer.part.plane);
        let from = match request.is_gathered(plane) {
            true => self.gathered(request, part, 0, slice.len, plane)?,
            false => self.host_slice(request, slice, plane)?,
        };
        let stream = &self.context.copy_in;
        let memory = DeviceSlice::whole(self.context.gpu.allocate(from.bytes())?);
        let begun = stream.record()?;
        stream.copy_in(&from, &memory.part(0, from.bytes()))?;
        Ok(PartCopy {
            transfer,
            begun,
            done: stream.record()?,
            memory,
        })
    }

    fn send_to_copier(&self, copy: PartCopy) -> Result<(), GpuError> {
        let mut copier = self.context.copier.lock();
        let (inbox, _) = match copier.as_ref() {
            Some(copier) => copier,
            None => copier.insert(self.start_copier()?),
        };
        let ended = |_| GpuError::Other("its copy thread ended".into());
        inbox.send(copy).map_err(ended)
    }

    fn start_copier(&self) -> Result<(Sender<PartCopy>, BoundedThread), GpuError> {
        let (inbox, copies) = channel();
        let gpu = self.clone();
        let name = format!("{} copies", self.slot.name);
        let thread = BoundedThread::start(name, move || gpu.note_all(&copies))
            .map_err(|e| GpuError::Other(format!("a thread could not be started: {e}")))?;
        Ok((inbox, thread))
    }

    fn note_all(&self, copies: &Receiver<PartCopy>) {
        for copy in copies {
            match copy.done.wait() {
                Ok(()) => self.note(copy),
                Err(reason) if reason.is_lost() => self.lose(&reason),
                Err(reason) => self.do_without(&copy.transfer, &reason),
            }
        }
    }

    /// Records the end of a copy.
    fn note(&self, copy: PartCopy) {
        let now = Instant::now();
        let when = |event: &Arc<dyn Event>| {
            let at = event.happened().unwrap_or(now).min(now);
            self.host.time_of(at)
        };
        let there = when(&copy.done);
        let begun = when(&copy.begun).min(there);
        let span = transfer_span(&copy.transfer, begun, there);
        let part = copy.transfer.part;
        self.context.samples.lock().fill(part, copy.memory);
        self.host.copied(self.slot.device, part, there, Some(span));
        self.slot.waker.wake();
    }

    /// Gives up the copy of a part. The lanes that run its samples copy them.
    fn do_without(&self, transfer: &Transfer, reason: &GpuError) {
        if self.context.becomes_cramped() {
            self.host.emit(EngineEvent::MemoryShort {
                device: self.slot.name.clone(),
                reason: reason.to_string(),
            });
        }
        self.context.samples.lock().spoil(transfer.part);
        let now = self.host.now();
        self.host.copied(self.slot.device, transfer.part, now, None);
        self.slot.waker.wake();
    }
}
