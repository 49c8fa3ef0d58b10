//! Copying ahead: samples travel to a device's own memory before a lane takes them
//! (Ebird, section V). Where several workers of a member could start them, those with
//! the least to do take first; who is about to run dry takes over what others hold
//! and cannot start.

use std::time::Duration;

use crate::serving::batch::{PartKey, RequestKey, Transfer, WorkerId};
use crate::serving::policy::fitting;
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::DeviceIndex;

use super::device::{Discipline, ScheduledWorker};
use super::pool::key;
use super::{ScheduledDevice, Scheduler};

/// The samples that a worker takes ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The worker's place in its row.
    pub index: usize,
    /// The most samples to take.
    pub most: usize,
    /// The worker whose unstarted samples go back to the queue first, if any.
    pub from: Option<WorkerId>,
}

impl Scheduler {
    /// Whether a device's batches find their samples in its memory.
    pub(super) fn is_ahead(&self, row: &ScheduledDevice) -> bool {
        self.policy.copies_ahead() && row.discipline.is_concurrent()
    }

    /// The worker of a device that should take samples and have them copied.
    pub(super) fn claimant(&self, device: DeviceIndex) -> Option<Claim> {
        let row = &self.rows[device];
        if !self.is_ahead(row) {
            return None;
        }
        let workers = row.workers.iter().enumerate();
        let mut able = workers.filter(|(_, w)| w.takes_batches());
        able.find_map(|(index, worker)| self.claim_of(row, index, worker))
    }

    /// Returns the samples that a worker should take ahead now, or `None` if it should take none.
    pub(super) fn claim_of(
        &self,
        row: &ScheduledDevice,
        index: usize,
        worker: &ScheduledWorker,
    ) -> Option<Claim> {
        let member = worker.spec.member;
        let waiting = self.queues[member].samples();
        let room = self.room_of(row, worker);
        let claim = |most: usize, from| (most > 0).then_some(Claim { index, most, from });
        if room == 0 {
            // Nobody can start more now: what comes next is on its way already then.
            let busy = waiting > 0 && self.rivals(worker).next().is_none();
            let ahead = row.look_ahead(self.policy, worker);
            return claim(if busy { ahead.min(waiting) } else { 0 }, None);
        }
        if self.rivals(worker).any(|w| lighter(w, worker)) {
            return None;
        }
        if waiting > 0 {
            let sharers = 1 + self.rivals(worker).count();
            return claim(room.min(waiting.div_ceil(sharers)), None);
        }
        let holder = self.holder(worker)?;
        let most = room.min(holder.current.samples());
        // Who takes them over starts them: else two could take them from each other for ever.
        let starts = self.could_start(row, worker, worker.current.samples() + most);
        claim(if starts { most } else { 0 }, Some(holder.spec.id))
    }

    /// Samples more that a worker could start now.
    fn room_of(&self, row: &ScheduledDevice, worker: &ScheduledWorker) -> usize {
        if !worker.takes_batches() || row.is_closed() {
            return 0;
        }
        let lanes = worker.lanes.idle_samples();
        let allowed = row.room(self.policy).saturating_sub(row.taken());
        lanes.saturating_sub(worker.current.samples()).min(allowed)
    }

    /// Other workers of the same member that could start samples now.
    fn rivals(&self, worker: &ScheduledWorker) -> impl Iterator<Item = &ScheduledWorker> {
        let spec = worker.spec;
        let rows = self.rows.iter();
        let all = rows.flat_map(|row| row.workers.iter().map(move |w| (row, w)));
        let of_member = all.filter(move |(_, w)| w.spec.member == spec.member);
        of_member
            .filter(move |(row, w)| w.spec.id != spec.id && self.room_of(row, w) > 0)
            .map(|(_, w)| w)
    }

    /// The worker of the same member that holds most samples which it cannot start.
    fn holder(&self, worker: &ScheduledWorker) -> Option<&ScheduledWorker> {
        let spec = worker.spec;
        let rows = self.rows.iter().filter(|row| self.is_ahead(row));
        let all = rows.flat_map(|row| row.workers.iter().map(move |w| (row, w)));
        let stuck = all.filter(|(row, w)| {
            let other = w.spec.member == spec.member && w.spec.id != spec.id;
            let held = w.current.samples();
            other && held > 0 && !self.could_start(row, w, held)
        });
        stuck.map(|(_, w)| w).max_by_key(|w| w.current.samples())
    }

    /// Whether a worker could start some of so many samples, were they all in its device's memory.
    fn could_start(&self, row: &ScheduledDevice, worker: &ScheduledWorker, held: usize) -> bool {
        let startable = fitting(held, row.room(self.policy));
        match (self.policy, row.discipline) {
            (PolicyKind::Elastic { .. }, Discipline::SideBySide(beside)) => {
                worker.lanes.elastic(startable, beside).is_some()
            }
            _ => startable > 0 && worker.lanes.smallest_idle(1).is_some(),
        }
    }

    /// Lets a worker take samples. Returns the parts that have to be copied for it.
    pub(super) fn claim(
        &mut self,
        now: Duration,
        device: DeviceIndex,
        claim: Claim,
    ) -> Vec<Transfer> {
        if let Some(holder) = claim.from {
            self.put_back(holder);
        }
        let policy = self.policy;
        let row = &mut self.rows[device];
        let worker = &mut row.workers[claim.index];
        let member = worker.spec.member;
        let mut transfers = Vec::new();
        for range in self.queues[member].take(claim.most) {
            let part = key(&range);
            if row.pool.hold(now, part, range.part_samples, range.len) {
                transfers.push(Transfer {
                    device,
                    member,
                    part,
                    // Whole parts travel: their other samples will be wanted too.
                    samples: range.part_samples,
                });
            }
            worker.current.push(range);
        }
        worker.ready = row.pool.ready(&worker.current);
        row.trim(policy);
        transfers
    }

    /// A part is in the memory of a device.
    pub fn copied(
        &mut self,
        now: Duration,
        device: DeviceIndex,
        part: PartKey,
    ) -> Option<Duration> {
        let row = &mut self.rows[device];
        let asked = row.pool.copied(now, part);
        for worker in &mut row.workers {
            worker.ready = row.pool.ready(&worker.current);
        }
        asked
    }

    /// From now on keeps which parts left the memory of a device.
    pub fn record_departures(&mut self, device: DeviceIndex) {
        self.rows[device].pool.record_departures();
    }

    /// Parts that left the memory of a device since the last call.
    pub fn take_departed(&mut self, device: DeviceIndex) -> Vec<PartKey> {
        self.rows[device].pool.take_departed()
    }

    /// Samples copied ahead, or on their way, in the memory of a device.
    pub fn copied_ahead(&self, device: DeviceIndex) -> usize {
        self.rows[device].pool.samples()
    }

    /// A request is over: its parts leave every device.
    pub fn forget(&mut self, request: RequestKey, parts: usize, planes: usize) {
        for row in &mut self.rows {
            row.pool.forget(request, parts, planes);
        }
    }
}

/// Whether `a` has less to do than `b`, as shares of what each takes at once.
fn lighter(a: &ScheduledWorker, b: &ScheduledWorker) -> bool {
    let load = |w: &ScheduledWorker| w.lanes.alive() + w.current.samples();
    let scaled = |w: &ScheduledWorker, other: &ScheduledWorker| load(w) * other.spec.size.get();
    scaled(a, b) < scaled(b, a)
}
