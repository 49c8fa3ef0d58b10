//! Workers come, drain, panic, are rebuilt and go.

use std::time::Duration;

use crate::serving::batch::{Batch, RequestKey, WorkerId};
use crate::serving::door::DoorState;
use crate::serving::scheduler::WorkerSpec;
use crate::serving::supervision::Verdict;

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

    /// A network panicked: its batch's requests fail, and where the worker goes those of
    /// its other batches too. What becomes of the worker: one that was leaving or gone
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

    /// A batch was run and its answers cannot be folded: its requests fail, its worker is
    /// as good as before.
    pub fn spoiled(&mut self, now: Duration, batch: &Batch<T>) -> Owed<T> {
        let failed = self.give_up(now, batch);
        failed.unwrap_or_else(|| Owed::new(&self.dropped))
    }

    /// Ends a batch and fails its requests; none where it was not in execution any more.
    fn give_up(&mut self, now: Duration, batch: &Batch<T>) -> Option<Owed<T>> {
        if !self.close_batch(now, batch) {
            return None;
        }
        let stuck: Vec<RequestKey> = batch.ranges.iter().map(|p| p.range.request).collect();
        let failed = self.fail_many(now, &stuck);
        for placed in &batch.ranges {
            self.discard(&placed.range);
        }
        Some(failed)
    }

    /// A worker that panicked was built again. False where it had to go meanwhile,
    /// and what was built is to be dropped.
    pub fn rebuilt(&mut self, id: WorkerId) -> bool {
        self.scheduler.rebuilt(id)
    }

    /// A member without a worker, if there is one. While a reload is under way there
    /// may be: its workers are coming.
    pub fn orphan(&self) -> Option<usize> {
        let served = |member: usize| self.scheduler.staying().any(|w| w.member == member);
        (0..self.members).find(|&m| !self.reloading && !served(m))
    }

    /// A reload begins, or is over.
    pub fn set_reloading(&mut self, reloading: bool) {
        self.reloading = reloading;
    }

    /// Closes the door because a member has no worker left; what waits fails.
    pub fn close_orphaned(&mut self, now: Duration, reason: &str) -> Owed<T> {
        self.orphaned = true;
        self.door.set(DoorState::Closed(reason.to_owned()));
        self.fail_all(now)
    }

    /// Opens a door that was closed for want of workers, once there are some.
    pub fn reopen_if_served(&mut self) {
        if self.orphaned && self.orphan().is_none() {
            self.orphaned = false;
            self.door.set(DoorState::Open);
        }
    }
}
