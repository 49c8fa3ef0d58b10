//! Workers come, drain, panic, are rebuilt and go; devices disappear and come back.
//!
//! The requests of a batch whose network panicked fail at once. The worker keeps its place while
//! it is built again, so that neither a reload nor the check for members without workers takes the
//! gap for an absence; a worker that was leaving anyway is not built again. The third panic within
//! a minute retires it. A member without workers closes the pipelines that use it until a
//! reload brings one. Applying any matrix starts retired entries again.

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
    /// A number for a worker about to be built.
    pub fn new_worker(&mut self) -> WorkerId {
        self.next_worker += 1;
        WorkerId(self.next_worker)
    }

    /// A worker is ready.
    pub fn add_worker(&mut self, now: Duration, spec: WorkerSpec) {
        self.tallies.insert(spec.id, WorkerTally::new());
        self.scheduler.add(now, spec);
    }

    /// Workers that are to stay.
    pub fn staying(&self) -> impl Iterator<Item = WorkerSpec> + '_ {
        self.scheduler.staying()
    }

    /// Returns what a worker is, or `None` if there is no such worker.
    pub fn spec(&self, id: WorkerId) -> Option<WorkerSpec> {
        self.scheduler.spec(id)
    }

    /// A worker starts nothing new.
    pub fn drain_worker(&mut self, id: WorkerId) {
        self.scheduler.drain(id);
    }

    /// Whether a draining worker runs nothing and has nothing left.
    pub fn is_drained(&self, id: WorkerId) -> bool {
        let mut running = self.running.values();
        let idle = running.all(|r| r.worker != id || r.given_up);
        idle && self.scheduler.is_drained(id)
    }

    /// Removes a worker. Returns the requests of batches that it still runs: they fail.
    pub fn remove_worker(&mut self, now: Duration, id: WorkerId) -> Owed<T> {
        let stuck = self.running_requests(id);
        self.scheduler.remove(id);
        self.tallies.remove(&id);
        self.fail_many(now, &stuck)
    }

    /// A network panicked: its batch's requests fail, except those that can do without it, and where
    /// the worker goes those of its other batches too. What becomes of the worker: one that was leaving or gone
    /// anyway is not built again.
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

    /// A batch was run and its answers cannot be folded: its requests fail, except
    /// those that can do without it; its worker is as good as before.
    pub fn spoiled(&mut self, now: Duration, batch: &Batch<T>) -> Owed<T> {
        let failed = self.give_up(now, batch);
        failed.unwrap_or_else(|| Owed::new(&self.dropped))
    }

    /// Ends a batch and fails its requests, except those that can do without it; none where it was
    /// not in execution any more.
    fn give_up(&mut self, now: Duration, batch: &Batch<T>) -> Option<Owed<T>> {
        if !self.close_batch(now, batch) {
            return None;
        }
        let ranges = batch.ranges.iter().map(|placed| placed.range);
        let (spared, failing): (Vec<Range>, Vec<Range>) = ranges
            .partition(|range| self.lacks((range.request, range.part), range.step, &range.rows()));
        let stuck: Vec<RequestKey> = failing.iter().map(|range| range.request).collect();
        let mut failed = self.fail_many(now, &stuck);
        for range in &failing {
            self.discard(range);
        }
        for range in &spared {
            let finished = self.ran(now, range, (now, Duration::ZERO), LatencySplit::default);
            finished.into_iter().for_each(|f| failed.push(f));
        }
        Some(failed)
    }

    /// A worker that panicked was built again. False where it had to go meanwhile,
    /// and what was built is to be dropped.
    pub fn rebuilt(&mut self, id: WorkerId) -> bool {
        self.scheduler.rebuilt(id)
    }

    /// A reload begins, or is over.
    pub fn set_reloading(&mut self, reloading: bool) {
        self.reloading = reloading;
    }
}

impl<T: Clone> Core<T> {
    /// A device is gone with everything on it. Batches it was running go back to
    /// their queues, since nothing of them was answered: no request is lost by it.
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
                    // Given up meanwhile: nobody waits for it.
                    _ => self.discard(&range),
                }
            }
        }
        for spec in self.scheduler.lose(device, again, left) {
            self.tallies.remove(&spec.id);
        }
        self.rest[device] = DeviceRest::Awake;
    }

    /// Batches of a device that are being folded end still, though it is gone.
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

    /// A device is there again; it has no workers yet.
    pub fn regain_device(&mut self, device: DeviceIndex) {
        self.scheduler.regain(device);
    }

    /// Whether a device is gone.
    pub fn is_lost(&self, device: DeviceIndex) -> bool {
        self.scheduler.is_lost(device)
    }

    /// Returns the bound that was set for a device by [`Core::set_max_inf`].
    pub fn max_inf(&self, device: DeviceIndex) -> Option<NonZeroU32> {
        self.scheduler.max_inf(device)
    }

    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    pub fn set_max_inf(&mut self, device: DeviceIndex, most: Option<NonZeroU32>) {
        self.scheduler.set_max_inf(device, most);
    }
}

/// Panics of one entry of the matrix.
#[derive(Clone, Debug, Default)]
pub struct PanicWatch {
    panics: VecDeque<Duration>,
}

/// The fate of a worker after a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Build it anew.
    Restart,
    /// Leave its place empty.
    Retire,
    /// It was leaving, or gone, anyway.
    Gone,
}

/// This many panics within [`WINDOW`] retire a worker.
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
