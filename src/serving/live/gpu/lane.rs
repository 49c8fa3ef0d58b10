//! A lane's thread: runs the batches that the dispatcher gives it, one after another, and
//! folds their answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::compute::ComputeError;
use crate::device::gpu::{DeviceSlice, Event};
use crate::lock::lock;
use crate::serving::batch::{PartKey, Placed, Slice};
use crate::serving::core::Stamps;
use crate::serving::spans::batch_spans;
use crate::trace::Span;

use super::super::client::RequestData;
use super::super::shared::EngineState;
use super::super::worker::{fold, panic_text, since};
use super::board::GpuContext;
use super::dispatch::go_on;
use super::loss::{lose, reason};
use super::stage::{LaneBuffers, Marks};
use super::{LiveBatch, describe};

/// What a lane's thread works with.
pub(super) struct Lane {
    pub shared: Arc<EngineState>,
    pub opened: Arc<GpuContext>,
    pub stage: LaneBuffers,
}

/// Samples of a batch: in the GPU's pool, or in the host's.
enum Piece {
    There(DeviceSlice),
    Here(Slice),
}

impl Lane {
    /// Runs what comes until nobody can send any more.
    pub fn work(&mut self, inbox: &Receiver<LiveBatch>) {
        for batch in inbox {
            self.serve(batch);
        }
    }

    fn serve(&mut self, batch: LiveBatch) {
        let started = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| self.run(&batch)));
        match ran {
            Ok(Ok(marks)) => self.finish(&batch, started, &marks),
            Ok(Err(error)) => self.fail(batch, &error),
            Err(panic) => {
                let _ = self.stage.settle();
                self.opened.fail(batch, panic_text(panic.as_ref()));
                self.shared.poke(&[self.opened.device]);
            }
        }
    }

    fn run(&mut self, batch: &LiveBatch) -> Result<Marks, ComputeError> {
        let samples = self.gather(batch)?;
        let marks = self.stage.launch(batch.rows, batch.samples, &samples);
        let waited = marks.and_then(|marks| {
            marks.returned.wait()?;
            Ok(marks)
        });
        if waited.is_err() {
            // What was queued may still read the samples. Libraries do not say that the
            // GPU is lost, its stream does.
            match self.stage.settle() {
                Err(error) if reason(&error).is_some() => return Err(error),
                _ => {}
            }
        }
        waited
    }

    /// Where the batch's samples lie on the GPU, in order: one slice a contiguous run.
    fn gather(&mut self, batch: &LiveBatch) -> Result<Vec<DeviceSlice>, ComputeError> {
        let transform = self.shared.storage.transform(batch.member);
        let mut slices: Vec<DeviceSlice> = Vec::new();
        let mut staged = 0;
        for piece in self.pieces(batch, transform) {
            let slice = match piece {
                Piece::There(slice) => slice,
                Piece::Here(from) => {
                    let host = self.opened.host_slice(&self.shared, from, transform)?;
                    staged += from.len;
                    self.stage.copy_in(&host, staged - from.len)?
                }
            };
            append(&mut slices, slice);
        }
        Ok(slices)
    }

    fn pieces(&self, batch: &LiveBatch, transform: usize) -> Vec<Piece> {
        let bytes = size_of::<f32>() * self.stage.inputs();
        let mut pieces: Vec<Piece> = Vec::new();
        let pool = lock(&self.opened.pool);
        for placed in &batch.ranges {
            let there = batch
                .in_pool
                .then(|| pool.find(&part_of(placed, transform)));
            if let Some(part) = there.flatten() {
                let range = placed.range;
                let slice = part.part(range.first * bytes, range.len * bytes);
                pieces.push(Piece::There(slice));
                continue;
            }
            match pieces.last_mut() {
                Some(Piece::Here(last)) if follows(last, &placed.slice) => {
                    last.len += placed.slice.len;
                }
                _ => pieces.push(Piece::Here(placed.slice)),
            }
        }
        pieces
    }

    fn finish(&self, batch: &LiveBatch, started: Instant, marks: &Marks) {
        if !self.shared.core().fold(batch) {
            // The GPU was given up meanwhile: others run these samples.
            return;
        }
        let ensemble = &self.shared.ensemble;
        let declared = ensemble.members[batch.member].outputs.is_declared();
        let answers = self.stage.answers(batch.samples);
        if let Err(why) = fold(batch, answers, ensemble.classes, declared) {
            return self.shared.spoil(batch, &why);
        }
        let stamps = self.stamps(started, marks);
        let end = self.shared.now();
        let (finished, mut woken) = {
            let mut core = self.shared.core();
            (core.finish(end, batch, stamps), core.wake(end))
        };
        let here = woken.iter().position(|d| *d == batch.device);
        here.map(|at| woken.swap_remove(at));
        self.shared.poke(&woken);
        if here.is_some() {
            go_on(&self.shared, &self.opened);
        }
        let spans: Vec<Span> = batch_spans(batch, &stamps, end).collect();
        self.shared.lanes[batch.device].spans.push(&spans);
        self.shared.deliver(finished);
    }

    /// When the batch did what, on the host's clock.
    fn stamps(&self, started: Instant, marks: &Marks) -> Stamps {
        let now = Instant::now();
        let at = |instant: Instant| since(self.shared.start, instant.min(now));
        let when = |event: &Arc<dyn Event>| at(event.happened().unwrap_or(now));
        let started = at(started);
        let copied = when(&marks.begun).max(started);
        let computed = when(&marks.computed).max(copied);
        Stamps {
            started,
            copied,
            computed,
            returned: when(&marks.returned).max(computed),
            busy: lock(&self.opened.busy).add(copied, computed),
            expected: None,
        }
    }

    fn fail(&self, batch: LiveBatch, error: &ComputeError) {
        match reason(error) {
            // Its batches go back to the queues, this one among them.
            Some(lost) => lose(&self.shared, batch.device, &self.opened, lost),
            None => {
                self.opened.fail(batch, describe(error));
                self.shared.poke(&[self.opened.device]);
            }
        }
    }
}

/// The part that a placed range belongs to.
fn part_of(placed: &Placed<Arc<RequestData>>, transform: usize) -> PartKey {
    PartKey {
        request: placed.range.request,
        part: placed.range.part,
        transform,
    }
}

fn follows(last: &Slice, next: &Slice) -> bool {
    last.extent == next.extent && last.slot + last.len == next.slot
}

/// Appends `slice`, to the last one where it goes on behind it.
fn append(slices: &mut Vec<DeviceSlice>, slice: DeviceSlice) {
    match slices.last_mut() {
        Some(last)
            if Arc::ptr_eq(&last.memory, &slice.memory)
                && last.offset + last.bytes == slice.offset =>
        {
            last.bytes += slice.bytes;
        }
        _ => slices.push(slice),
    }
}
