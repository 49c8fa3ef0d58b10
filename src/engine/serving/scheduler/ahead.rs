//! Copying ahead: samples are copied to a device's own memory before a lane takes them (Ebird,
//! section V). If several workers of a member could start them, the least loaded ones take first. A
//! worker that is about to run out takes over samples that others hold and cannot start.

use std::time::Duration;

use crate::serving::batch::{PartKey, RequestKey, Transfer, WorkerId};
use crate::serving::policy::fitting;
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::DeviceIndex;

use super::device::{Discipline, ScheduledWorker};
use super::pool::key;
use super::{ScheduledDevice, Scheduler};

/// The samples for a worker to take ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The worker's index in its row.
    pub index: usize,
    /// The most samples to take.
    pub most: usize,
    /// The worker whose unstarted samples return to the queue first, or `None`.
    pub from: Option<WorkerId>,
}

impl Scheduler {
    /// Returns whether a device's batches read their samples from its memory.
    pub(super) fn is_ahead(&self, row: &ScheduledDevice) -> bool {
        self.policy.copies_ahead() && row.discipline.is_concurrent()
    }

    /// Returns the claim of the worker of a device that should take samples and have them copied,
    /// or `None`.
    pub(super) fn claimant(&self, device: DeviceIndex) -> Option<Claim> {
        let row = &self.rows[device];
        if !self.is_ahead(row) {
            return None;
        }
        let workers = row.workers.iter().enumerate();
        let mut able = workers.filter(|(_, w)| w.takes_batches());
        able.find_map(|(index, worker)| self.claim_of(row, index, worker))
    }

    /// Returns the samples that a worker should take ahead now, or `None`.
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
            // No worker can start more now, so the samples for the next batch can already be
            // copied.
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
        // The worker must be able to start them. Otherwise two workers could take them from each
        // other forever.
        let starts = self.could_start(row, worker, worker.current.samples() + most);
        claim(if starts { most } else { 0 }, Some(holder.spec.id))
    }

    /// Returns the number of further samples that a worker could start now.
    fn room_of(&self, row: &ScheduledDevice, worker: &ScheduledWorker) -> usize {
        if !worker.takes_batches() || row.is_closed() {
            return 0;
        }
        let lanes = worker.lanes.idle_samples();
        let allowed = row.room(self.policy).saturating_sub(row.taken());
        lanes.saturating_sub(worker.current.samples()).min(allowed)
    }

    /// Returns the other workers of the same member that could start samples now.
    fn rivals(&self, worker: &ScheduledWorker) -> impl Iterator<Item = &ScheduledWorker> {
        let spec = worker.spec;
        let rows = self.rows.iter();
        let all = rows.flat_map(|row| row.workers.iter().map(move |w| (row, w)));
        let of_member = all.filter(move |(_, w)| w.spec.member == spec.member);
        of_member
            .filter(move |(row, w)| w.spec.id != spec.id && self.room_of(row, w) > 0)
            .map(|(_, w)| w)
    }

    /// Returns the worker of the same member with the most samples that it cannot start.
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

    /// Returns whether a worker could start some of `held` samples if all were in its device's
    /// memory.
    fn could_start(&self, row: &ScheduledDevice, worker: &ScheduledWorker, held: usize) -> bool {
        let startable = fitting(held, row.room(self.policy));
        match (self.policy, row.discipline) {
            (PolicyKind::Elastic { .. }, Discipline::SideBySide(beside)) => {
                worker.lanes.elastic(startable, beside).is_some()
            }
            _ => startable > 0 && worker.lanes.smallest_idle(1).is_some(),
        }
    }

    /// Takes samples for a worker. Returns the parts to copy for it.
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
                    // Whole parts are copied, because their other samples will be needed too.
                    samples: range.part_samples,
                });
            }
            worker.current.push(range);
        }
        worker.ready = row.pool.ready(&worker.current);
        row.trim(policy);
        transfers
    }

    /// Records that a part is in the memory of a device.
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

    /// Begins recording the parts that leave the memory of a device.
    pub fn record_departures(&mut self, device: DeviceIndex) {
        self.rows[device].pool.record_departures();
    }

    /// Returns the parts that left the memory of a device since the last call.
    pub fn take_departed(&mut self, device: DeviceIndex) -> Vec<PartKey> {
        self.rows[device].pool.take_departed()
    }

    /// Returns the samples in the memory of a device that were copied ahead, or are being copied.
    pub fn copied_ahead(&self, device: DeviceIndex) -> usize {
        self.rows[device].pool.samples()
    }

    /// Removes the parts of a finished request from every device.
    pub fn forget(&mut self, request: RequestKey, parts: usize, planes: usize) {
        for row in &mut self.rows {
            row.pool.forget(request, parts, planes);
        }
    }
}

/// Returns whether `a` is less loaded than `b`, relative to the samples that each takes at once.
fn lighter(a: &ScheduledWorker, b: &ScheduledWorker) -> bool {
    let load = |w: &ScheduledWorker| w.lanes.alive() + w.current.samples();
    let scaled = |w: &ScheduledWorker, other: &ScheduledWorker| load(w) * other.spec.size.get();
    scaled(a, b) < scaled(b, a)
}
