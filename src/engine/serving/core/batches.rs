//! Batches, from free devices to finished requests.

use std::time::Duration;

use crate::serving::batch::{
    Batch, BatchId, PartKey, Placed, Range, RequestKey, Slice, Transfer, WorkerId,
};
use crate::serving::scheduler::{FinishedBatch, Pick, Start};
use divisi_model::ensemble::BatchSize;
use divisi_model::trace::{Span, SpanKind, StepPlace};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::latencies::{Stamps, split};
use super::rest::DeviceRest;
use super::{Core, Owed, latencies};

/// The core's answer to a device that is ready for work.
#[derive(Clone, Debug)]
pub enum Next<T> {
    /// Run this batch.
    Run(Batch<T>),
    /// Copy these parts to the device's memory in order and call [`Core::copied`] for each. Call
    /// [`Core::next`] again at once.
    Copy(Vec<Transfer>),
    /// Sleep until this time, or until woken if `None`.
    Sleep(Option<Duration>),
}

/// A batch in execution.
pub(super) struct RunningBatch {
    /// The start of the batch.
    pub since: Duration,
    /// The worker of the batch.
    pub worker: WorkerId,
    /// The worker's batch size.
    pub size: BatchSize,
    /// The number of the worker's lane.
    pub lane: usize,
    /// The step of the first sample.
    pub of_step: StepPlace,
    /// The worker's device.
    pub device: DeviceIndex,
    /// The worker's member.
    pub member: MemberIndex,
    /// The samples.
    pub ranges: Vec<Range>,
    /// Whether the worker was given up, so that only the slots remain to be freed.
    pub given_up: bool,
    /// Whether the answers are being folded, so that no other worker may run the samples.
    pub folding: bool,
    /// Whether the device was lost, with everything in its memory.
    pub lost: bool,
}

impl RunningBatch {
    /// Returns its span so far, as computation: the core does not know the phases of a batch until
    /// its end.
    fn span(&self, id: BatchId, now: Duration) -> Span {
        let (request, requests) = latencies::requests(self.ranges.iter());
        Span {
            device: self.device,
            member: self.member,
            batch_size: self.size.get(),
            lane: self.lane,
            kind: SpanKind::Compute,
            start: self.since.min(now),
            end: now,
            samples: self.ranges.iter().map(|range| range.len).sum(),
            batch: Some(id.0),
            request,
            requests,
            of_step: Some(self.of_step),
        }
    }
}

impl<T: Clone> Core<T> {
    /// Returns the batches in execution, each as a span from its start to `now`, by start.
    pub fn under_way(&self, now: Duration) -> Vec<Span> {
        let there = self.running.iter().filter(|(_, b)| !b.given_up && !b.lost);
        let mut spans: Vec<Span> = there.map(|(id, batch)| batch.span(*id, now)).collect();
        spans.sort_by_key(|span| (span.start, span.batch));
        spans
    }

    /// Returns the next work for a device that is ready: a device that runs one batch at a time is
    /// free, and a device that runs batches side by side repeats the call until it is to sleep. The
    /// driver has to call [`Core::wake_others`] each time.
    pub fn next(&mut self, now: Duration, device: DeviceIndex) -> Next<T> {
        self.rest[device] = DeviceRest::Awake;
        let pick = self.scheduler.next(now, device);
        // Copying ahead depends on the work of other devices.
        self.held_back |= pick != Pick::Wait && self.policy().copies_ahead();
        match pick {
            Pick::Wait => Next::Sleep(self.lay_down(now, device)),
            Pick::Copy(transfers) => Next::Copy(transfers),
            Pick::Run(start) => Next::Run(self.place(now, start)),
        }
    }

    /// Records that a part was copied to a device's memory.
    pub fn copied(&mut self, now: Duration, device: DeviceIndex, part: PartKey) {
        if let Some(asked) = self.scheduler.copied(now, device, part) {
            self.copies[device].copied(now, asked);
        }
    }

    /// Returns the slots of a part's samples in the pool and the request's payload, or `None` if
    /// the request is over.
    pub fn place_of(&self, part: PartKey) -> Option<(Slice, T)> {
        let entry = self.requests.get(&part.request)?;
        let slice = entry.parts.get(part.part).map(|p| p.slice)?;
        Some((slice, entry.payload.clone()))
    }

    /// Begins recording the parts that leave a device, because its driver holds memory for them.
    pub fn record_departures(&mut self, device: DeviceIndex) {
        self.scheduler.record_departures(device);
    }

    /// Returns the parts that left a device since the last call. The driver frees their memory.
    pub fn take_departed(&mut self, device: DeviceIndex) -> Vec<PartKey> {
        self.scheduler.take_departed(device)
    }

    fn place(&mut self, now: Duration, start: Start) -> Batch<T> {
        let worker = start.worker;
        let first = start.ranges.first().map(|(range, _)| range);
        let pipeline = first.and_then(|range| Some(self.requests.get(&range.request)?.pipeline));
        let step = first.map(|range| range.step).unwrap_or_default();
        let (requests, pipelines) = (&mut self.requests, &mut self.pipelines);
        let ranges = start.ranges.iter();
        let placed: Vec<Placed<T>> = ranges
            .filter_map(|&(range, copied_for)| {
                let entry = requests.get_mut(&range.request)?;
                if !std::mem::replace(&mut entry.begun, true) {
                    pipelines[entry.pipeline.0].waiting -= 1;
                }
                let part = entry.parts[range.part].slice;
                Some(Placed {
                    range,
                    slice: Slice {
                        extent: part.extent,
                        slot: part.slot + range.first,
                        len: range.len,
                    },
                    copied_for,
                    payload: entry.payload.clone(),
                })
            })
            .collect();
        let of_step = latencies::step_place(pipeline.unwrap_or_default(), step);
        let running = RunningBatch {
            since: now,
            worker: worker.id,
            size: worker.size,
            lane: start.lane.index,
            of_step,
            device: worker.device,
            member: worker.member,
            ranges: placed.iter().map(|p| p.range).collect(),
            given_up: false,
            folding: false,
            lost: false,
        };
        if self.has_queues {
            self.begin_requests(&running.ranges);
        }
        self.running.insert(start.id, running);
        Batch {
            id: start.id,
            worker: worker.id,
            device: worker.device,
            member: worker.member,
            size: worker.size,
            lane: start.lane,
            alive: start.alive,
            samples: placed.iter().map(|p| p.range.len).sum(),
            rows: start.rows,
            of_step,
            oldest: placed.first().map_or(Duration::ZERO, |p| p.range.arrived),
            held_since: start.held_since,
            in_pool: start.in_pool,
            ranges: placed,
        }
    }

    /// Begins folding the answers of a batch. Returns `false` if its device was lost earlier: other
    /// devices run its samples, and its answers must be dropped.
    pub fn fold(&mut self, batch: &Batch<T>) -> bool {
        match self.running.get_mut(&batch.id) {
            Some(running) => {
                running.folding = true;
                true
            }
            None => false,
        }
    }

    /// Ends a batch that was run and folded. Returns the complete requests. They are empty if its
    /// device was lost, because other devices run its samples then.
    pub fn finish(&mut self, now: Duration, batch: &Batch<T>, stamps: Stamps) -> Owed<T> {
        let mut owed = Owed::new(&self.dropped);
        if !self.close_batch(now, batch) {
            return owed;
        }
        let done = &mut self.member_done[batch.member];
        done.samples.add(now, batch.samples as f64);
        done.device += stamps.busy;
        if let Some(tally) = self.tallies.get_mut(&batch.worker) {
            tally.finished(now, batch, &stamps);
            latencies::record(
                now,
                batch,
                &stamps,
                [&mut tally.latencies, &mut done.latencies],
            );
        }
        let computed = stamps.computed.saturating_sub(stamps.copied);
        for placed in &batch.ranges {
            let split = || split(now, batch, placed, &stamps);
            let finished =
                self.record_run(now, batch, &placed.range, stamps.started, computed, split);
            finished.into_iter().for_each(|f| owed.push(f));
        }
        owed
    }

    /// Takes a batch out of execution. Returns `false` if it was no longer in execution.
    pub(super) fn close_batch(&mut self, now: Duration, batch: &Batch<T>) -> bool {
        let Some(running) = self.running.remove(&batch.id) else {
            return false;
        };
        let over = FinishedBatch {
            device: batch.device,
            member: batch.member,
            worker: batch.worker,
            batch: batch.id,
            in_pool: batch.in_pool && !running.lost,
            ranges: &running.ranges,
        };
        self.scheduler.finish(now, over);
        true
    }

    /// Returns the requests of a worker's running batches.
    pub(super) fn running_requests(&mut self, worker: WorkerId) -> Vec<RequestKey> {
        let mut requests: Vec<RequestKey> = Vec::new();
        for running in self.running.values_mut() {
            if running.worker == worker && !running.given_up {
                running.given_up = true;
                requests.extend(running.ranges.iter().map(|r| r.request));
            }
        }
        requests.sort_unstable();
        requests.dedup();
        requests
    }
}
