//! The life of workers: start, drain, panic, restart and removal. Also the loss and return of
//! devices.
//!
//! After a panic of a network, the requests of its batch fail at once. The worker keeps its place
//! while it is rebuilt, so that neither a reload nor the check for members without workers treats
//! the gap as an absence. A worker that was leaving anyway is not rebuilt. The third panic within a
//! minute retires the worker. A member without workers closes the pipelines that use it until a
//! reload brings a worker. Applying any matrix starts retired entries again.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::serving::batch::{Batch, BatchId, Range, RequestKey, WorkerId};
use crate::serving::scheduler::{Left, WorkerSpec};
use divisi_model::metrics::LatencySplit;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::rest::DeviceRest;
use super::stats::WorkerTally;
use super::{Core, Owed};

impl<T: Clone> Core<T> {
    /// Returns the number for a new worker.
    pub fn new_worker(&mut self) -> WorkerId {
        self.next_worker += 1;
        WorkerId(self.next_worker)
    }

    /// Adds a worker that is ready.
    pub fn add_worker(&mut self, now: Duration, spec: WorkerSpec) {
        self.tallies.insert(spec.id, WorkerTally::new());
        self.scheduler.add(now, spec);
    }

    /// Returns the workers that are not leaving.
    pub fn staying(&self) -> impl Iterator<Item = WorkerSpec> + '_ {
        self.scheduler.staying()
    }

    /// Returns the specification of a worker, or `None` if it does not exist.
    pub fn spec(&self, id: WorkerId) -> Option<WorkerSpec> {
        self.scheduler.spec(id)
    }

    /// Stops a worker from starting new batches.
    pub fn drain_worker(&mut self, id: WorkerId) {
        self.scheduler.drain(id);
    }

    /// Returns whether a draining worker has nothing left to run.
    pub fn is_drained(&self, id: WorkerId) -> bool {
        let mut running = self.running.values();
        let idle = running.all(|r| r.worker != id || r.given_up);
        idle && self.scheduler.is_drained(id)
    }

    /// Removes a worker. Returns the requests of its running batches, which fail.
    pub fn remove_worker(&mut self, now: Duration, id: WorkerId) -> Owed<T> {
        let stuck = self.running_requests(id);
        self.scheduler.remove(id);
        self.tallies.remove(&id);
        self.fail_many(now, &stuck)
    }

    /// Handles a panic of a network. Fails the requests of its batch, except those that can do
    /// without it, and of the worker's other batches if the worker is removed. Returns the fate of
    /// the worker. A worker that was leaving or removed is not rebuilt.
    pub fn panicked(&mut self, now: Duration, batch: &Batch<T>) -> (Verdict, Owed<T>) {
        let Some(mut failed) = self.give_up(now, batch) else {
            return (Verdict::Gone, Owed::new(&self.dropped));
        };
        if !self.scheduler.staying().any(|w| w.id == batch.worker) {
            failed.join(self.remove_worker(now, batch.worker));
            return (Verdict::Gone, failed);
        }
        let place = (batch.device, batch.member);
        let verdict = self.watches.entry(place).or_default().panicked(now);
        if verdict == Verdict::Restart {
            *self.restarts.entry(place).or_default() += 1;
            self.scheduler.rebuild(batch.worker);
        } else {
            failed.join(self.remove_worker(now, batch.worker));
        }
        (verdict, failed)
    }

    /// Handles a batch whose answers cannot be folded. Fails its requests, except those that can do
    /// without it. The worker stays.
    pub fn spoiled(&mut self, now: Duration, batch: &Batch<T>) -> Owed<T> {
        let failed = self.give_up(now, batch);
        failed.unwrap_or_else(|| Owed::new(&self.dropped))
    }

    /// Ends a batch and fails its requests, except those that can do without it. Returns `None` if
    /// it was no longer in execution.
    fn give_up(&mut self, now: Duration, batch: &Batch<T>) -> Option<Owed<T>> {
        if !self.close_batch(now, batch) {
            return None;
        }
        let ranges = batch.ranges.iter().map(|placed| placed.range);
        let (spared, failing): (Vec<Range>, Vec<Range>) = ranges
            .partition(|range| self.lacks(range.request, range.part, range.step, &range.rows()));
        let stuck: Vec<RequestKey> = failing.iter().map(|range| range.request).collect();
        let mut failed = self.fail_many(now, &stuck);
        for range in &failing {
            self.discard(range);
        }
        for range in &spared {
            let split = LatencySplit::default;
            let finished = self.record_run(now, batch, range, now, Duration::ZERO, split);
            finished.into_iter().for_each(|f| failed.push(f));
        }
        Some(failed)
    }

    /// Records that a worker was rebuilt after a panic. Returns `false` if it had to leave in the
    /// meantime, so that the caller drops the new one.
    pub fn rebuilt(&mut self, id: WorkerId) -> bool {
        self.scheduler.rebuilt(id)
    }

    /// Marks the beginning or the end of a reload.
    pub fn set_reloading(&mut self, reloading: bool) {
        self.reloading = reloading;
    }
}

impl<T: Clone> Core<T> {
    /// Loses a device with everything on it. Its running batches return to their queues, because
    /// none of their samples were answered. No request is lost.
    pub fn lose_device(&mut self, device: DeviceIndex) {
        let left = self.leave_folding(device);
        let here = self.running.iter();
        let here = here.filter(|(_, r)| r.device == device && !r.folding);
        let mut lost: Vec<BatchId> = here.map(|(id, _)| *id).collect();
        lost.sort_unstable();
        let mut again: Vec<(MemberIndex, Range)> = Vec::new();
        for id in lost {
            let Some(running) = self.running.remove(&id) else {
                continue;
            };
            for range in running.ranges {
                match self.requests.get(&range.request) {
                    Some(entry) if entry.waits_for(&range) => again.push((running.member, range)),
                    // The request has ended in the meantime.
                    _ => self.discard(&range),
                }
            }
        }
        for spec in self.scheduler.lose(device, again, left) {
            self.tallies.remove(&spec.id);
        }
        self.rest[device] = DeviceRest::Awake;
    }

    /// Marks the batches of a lost device that are being folded, which still end.
    fn leave_folding(&mut self, device: DeviceIndex) -> Left {
        let mut left = Left::default();
        let here = self.running.values_mut();
        for running in here.filter(|r| r.device == device && r.folding) {
            running.lost = true;
            left.batches += 1;
            left.samples += running.ranges.iter().map(|r| r.len).sum::<usize>();
        }
        left
    }

    /// Marks a lost device as available again, without workers.
    pub fn regain_device(&mut self, device: DeviceIndex) {
        self.scheduler.regain(device);
    }

    /// Returns whether a device is lost.
    pub fn is_lost(&self, device: DeviceIndex) -> bool {
        self.scheduler.is_lost(device)
    }

    /// Returns the bound set by [`Core::set_max_inf`] for a device.
    pub fn max_inf(&self, device: DeviceIndex) -> Option<NonZeroU32> {
        self.scheduler.max_inf(device)
    }

    /// Sets the most samples in execution on a device under `elastic`. `None` uses the policy's
    /// bound.
    pub fn set_max_inf(&mut self, device: DeviceIndex, most: Option<NonZeroU32>) {
        self.scheduler.set_max_inf(device, most);
    }
}

/// The recent panics of one entry of the matrix.
#[derive(Clone, Debug, Default)]
pub struct PanicWatch {
    panics: VecDeque<Duration>,
}

/// The fate of a worker after a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Rebuild it.
    Restart,
    /// Leave its place empty.
    Retire,
    /// It was already leaving or removed.
    Gone,
}

/// The number of panics within [`WINDOW`] that retires a worker.
const MOST: usize = 3;
const WINDOW: Duration = Duration::from_secs(60);

impl PanicWatch {
    /// Records a panic.
    pub fn panicked(&mut self, now: Duration) -> Verdict {
        self.panics.push_back(now);
        while self.panics.front().is_some_and(|&t| now - t > WINDOW) {
            self.panics.pop_front();
        }
        if self.panics.len() >= MOST {
            Verdict::Retire
        } else {
            Verdict::Restart
        }
    }
}
