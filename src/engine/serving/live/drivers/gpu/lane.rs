//! A lane's thread: runs the dispatched batches one after another, and folds their answers.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::serving::batch::{PartKey, Placed, Slice};
use crate::serving::core::Stamps;
use divisi_model::ensemble::OutputKind;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::gpu::{DeviceSlice, Event};

use super::super::super::promise::caught;
use super::super::super::request::{BatchOutput, LiveBatch, RequestData};
use super::buffers::{LaneBuffers, LaneMarks};
use super::serving::{ServingGpu, loss_in};

/// A lane in its own thread.
pub(super) struct GpuLane {
    pub gpu: ServingGpu,
    pub buffers: LaneBuffers,
    /// Values of an answer.
    pub width: usize,
    /// The declared kind of its member's outputs.
    pub outputs: OutputKind,
}

/// Samples of a batch: in the GPU's pool, in the host's pool, or gathered as an input.
enum BatchPiece {
    There(DeviceSlice),
    /// Gathered results of steps: the range's number in the batch.
    Gathered(usize),
    Here(usize, Slice, usize),
}

impl GpuLane {
    /// Runs batches until the inbox is closed.
    pub(super) fn work(&mut self, inbox: &Receiver<LiveBatch>) {
        for batch in inbox {
            self.serve(batch);
        }
    }

    fn serve(&mut self, batch: LiveBatch) {
        let started = Instant::now();
        match caught(|| self.run(&batch)) {
            Ok(Ok(marks)) => self.finish(&batch, started, &marks),
            Ok(Err(error)) => self.fail(batch, error),
            Err(panic) => {
                let _ = self.buffers.settle();
                self.gpu.fail(batch, panic.into());
            }
        }
    }

    fn run(&mut self, batch: &LiveBatch) -> Result<LaneMarks, ComputeError> {
        let samples = self.gather(batch)?;
        let marks = self.buffers.launch(batch.rows, batch.samples, &samples);
        let waited = marks.and_then(|marks| {
            marks.returned.wait()?;
            Ok(marks)
        });
        if waited.is_err() {
            // Queued work may still read the samples. Libraries do not report a lost GPU, but its
            // stream does.
            match self.buffers.settle() {
                Err(error) if loss_in(&error).is_some() => return Err(error),
                _ => {}
            }
        }
        waited
    }

    /// Returns the locations of the batch's samples on the GPU, in order: one slice per contiguous
    /// run.
    fn gather(&mut self, batch: &LiveBatch) -> Result<Vec<DeviceSlice>, ComputeError> {
        let mut slices: Vec<DeviceSlice> = Vec::new();
        let mut staged = 0;
        for piece in self.pieces(batch) {
            let slice = match piece {
                BatchPiece::There(slice) => slice,
                BatchPiece::Gathered(at) => {
                    let Placed { range, payload, .. } = &batch.ranges[at];
                    let (part, first, len) = (range.part, range.first, range.len);
                    let host = self.gpu.gathered(payload, part, first, len, range.plane)?;
                    staged += len;
                    self.buffers.copy_in(&host, staged - len)?
                }
                BatchPiece::Here(at, from, plane) => {
                    let payload = &batch.ranges[at].payload;
                    let host = self.gpu.host_slice(payload, from, plane)?;
                    staged += from.len;
                    self.buffers.copy_in(&host, staged - from.len)?
                }
            };
            append(&mut slices, slice);
        }
        Ok(slices)
    }

    fn pieces(&self, batch: &LiveBatch) -> Vec<BatchPiece> {
        let bytes = size_of::<f32>() * self.buffers.inputs();
        let mut pieces: Vec<BatchPiece> = Vec::new();
        let samples = self.gpu.context.samples.lock();
        for (at, placed) in batch.ranges.iter().enumerate() {
            let there = batch.in_pool.then(|| samples.find(&part_of(placed)));
            if let Some(part) = there.flatten() {
                let range = placed.range;
                let slice = part.part(range.first * bytes, range.len * bytes);
                pieces.push(BatchPiece::There(slice));
                continue;
            }
            if placed.payload.is_gathered(placed.range.plane) {
                pieces.push(BatchPiece::Gathered(at));
                continue;
            }
            match pieces.last_mut() {
                Some(BatchPiece::Here(first, last, plane))
                    if *plane == placed.range.plane
                        && is_same_pool(&batch.ranges[*first], placed)
                        && follows(last, &placed.slice) =>
                {
                    last.len += placed.slice.len;
                }
                _ => pieces.push(BatchPiece::Here(at, placed.slice, placed.range.plane)),
            }
        }
        pieces
    }

    fn finish(&self, batch: &LiveBatch, started: Instant, marks: &LaneMarks) {
        let host = self.gpu.host.as_ref();
        if !host.begin_folding(batch) {
            // The GPU was given up in the meantime, and other devices run these samples.
            return;
        }
        let output = BatchOutput {
            rows: self.buffers.answers(batch.samples),
            width: self.width,
            outputs: self.outputs,
        };
        if let Err(why) = output.fold(batch) {
            return host.not_folded(batch, &why);
        }
        let stamps = self.stamps(started, marks);
        let completed = host.finish_and_wake(batch, &stamps, host.now());
        if completed.goes_on {
            // Before answering, so that the GPU does not wait for it.
            self.gpu.go_on();
        }
        host.answer(batch, &stamps, completed);
    }

    /// Returns the times of the batch on the host's clock.
    fn stamps(&self, started: Instant, marks: &LaneMarks) -> Stamps {
        let now = Instant::now();
        let at = |instant: Instant| self.gpu.host.time_of(instant.min(now));
        let when = |event: &Arc<dyn Event>| at(event.happened().unwrap_or(now));
        let started = at(started);
        let copied = when(&marks.begun).max(started);
        let computed = when(&marks.computed).max(copied);
        Stamps {
            started,
            copied,
            computed,
            returned: when(&marks.returned).max(computed),
            busy: self.gpu.context.busy.lock().add(copied, computed),
            expected: None,
        }
    }

    fn fail(&self, batch: LiveBatch, error: ComputeError) {
        match loss_in(&error) {
            // All its batches, including this one, return to the queues.
            Some(lost) => self.gpu.lose(lost),
            None => self.gpu.fail(batch, error.into()),
        }
    }
}

/// Returns whether the samples of both are in one pool.
fn is_same_pool(one: &Placed<Arc<RequestData>>, other: &Placed<Arc<RequestData>>) -> bool {
    Arc::ptr_eq(&one.payload.served, &other.payload.served)
}

/// Returns the part of a placed range.
fn part_of(placed: &Placed<Arc<RequestData>>) -> PartKey {
    PartKey {
        request: placed.range.request,
        part: placed.range.part,
        plane: placed.range.plane,
    }
}

fn follows(last: &Slice, next: &Slice) -> bool {
    last.extent == next.extent && last.slot + last.len == next.slot
}

/// Appends `slice`, or extends the last slice if they are contiguous.
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
