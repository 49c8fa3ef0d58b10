//! Queues, workers and the policy: the assignment of samples to the lanes of devices.
//!
//! A device with room runs the worker with the oldest head of queue among those that can run under
//! their policy. Its [`Discipline`] defines room. A partition runs one batch at a time; the entries
//! of its row are planned sizes, not threads. An accelerator runs lanes side by side, one for each
//! worker, or 1, 1, 2, 4, … under `elastic`.
//!
//! Under `elastic` and `pipelined-opt-wait` the workers of an accelerator take samples before they
//! can start them and have them copied ahead (`ahead`): whole parts, once for all workers with the
//! same input. A worker starts only copied samples. Of several workers of a member with room, the
//! least loaded one takes a share of the waiting samples. When none has room, each takes samples
//! ahead for its largest lane, and a worker that runs out takes over samples that others hold and
//! cannot start.

mod ahead;
mod choose;
mod device;
mod own;
mod pool;

use std::num::NonZeroU32;
use std::ops;
use std::time::Duration;

use divisi_model::ensemble::{MemberPolicy, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::batch::{Range, WorkerId};
use super::order::SampleOrder;
use super::queue::{MemberQueue, Segmenter, StepFilter};

pub use choose::{Pick, Start, Want};
pub use device::{Discipline, FinishedBatch, Left, WorkerSpec};
use device::{ScheduledDevice, ScheduledWorker};
use own::OwnPolicies;

/// The work of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// The worker.
    pub spec: WorkerSpec,
    /// Samples of its batches in execution.
    pub alive: usize,
    /// Samples that it has taken and not started.
    pub waiting: usize,
}

/// The scheduler of all devices.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: PolicyKind,
    own: OwnPolicies,
    queues: Vec<MemberQueue>,
    /// The segmenter of each member.
    segmenters: Vec<Segmenter>,
    rows: Vec<ScheduledDevice>,
    next_batch: u64,
    /// The number of queue places examined for samples to remove.
    looked_at: u64,
}

impl Scheduler {
    /// Creates a scheduler without workers, with one device per discipline, `members` members, and
    /// segments of `segment` samples.
    pub fn new(devices: &[Discipline], members: usize, policy: PolicyKind, segment: usize) -> Self {
        Scheduler {
            policy,
            own: OwnPolicies::new(policy, Vec::new()),
            queues: vec![MemberQueue::default(); members],
            segmenters: vec![Segmenter::new(segment); members],
            rows: devices.iter().map(|&d| ScheduledDevice::new(d)).collect(),
            next_batch: 0,
            looked_at: 0,
        }
    }

    /// Sets the policies of members that have their own.
    #[must_use]
    pub fn with_own(self, by_member: Vec<Option<MemberPolicy>>) -> Self {
        Scheduler {
            own: OwnPolicies::new(self.policy, by_member),
            ..self
        }
    }

    /// Adds a worker that is ready.
    pub fn add(&mut self, now: Duration, spec: WorkerSpec) {
        let policy = self.policy;
        let row = &mut self.rows[spec.device];
        row.workers
            .push(ScheduledWorker::new(now, spec, policy, row.discipline));
    }

    /// Stops a worker after the segment that it has taken.
    pub fn drain(&mut self, id: WorkerId) {
        let ahead = self.policy.copies_ahead();
        let Some(worker) = self.find_mut(id) else {
            return;
        };
        worker.draining = true;
        if ahead {
            self.put_back(id);
        }
    }

    /// Returns the taken but unstarted samples of a worker to its queue.
    fn put_back(&mut self, id: WorkerId) {
        for row in &mut self.rows {
            if let Some(index) = row.workers.iter().position(|w| w.spec.id == id) {
                let member = row.workers[index].spec.member;
                let ahead = self.policy.copies_ahead();
                let ranges = row.give_back(index, ahead);
                return self.queues[member].put_back(ranges);
            }
        }
    }

    /// Returns whether a draining worker has nothing left to start.
    pub fn is_drained(&self, id: WorkerId) -> bool {
        self.find(id)
            .is_none_or(|w| w.draining && (w.rebuilding || w.current.samples() == 0))
    }

    /// Marks a worker whose network panicked. It starts nothing until it is rebuilt.
    pub fn rebuild(&mut self, id: WorkerId) {
        if let Some(worker) = self.find_mut(id) {
            worker.rebuilding = true;
        }
    }

    /// Marks a worker as rebuilt. Returns `false` if it has left or is leaving.
    pub fn rebuilt(&mut self, id: WorkerId) -> bool {
        match self.find_mut(id).filter(|w| !w.draining) {
            Some(worker) => {
                worker.rebuilding = false;
                true
            }
            None => {
                self.remove(id);
                false
            }
        }
    }

    /// Removes a worker. Its taken but unstarted samples return to the queue.
    pub fn remove(&mut self, id: WorkerId) {
        self.put_back(id);
        for row in &mut self.rows {
            let before = row.workers.len();
            row.workers.retain(|w| w.spec.id != id);
            if row.workers.len() < before {
                row.trim(self.policy);
            }
        }
    }

    /// Returns the workers that stay: those that start batches, or will after a rebuild.
    pub fn staying(&self) -> impl Iterator<Item = WorkerSpec> + '_ {
        self.workers().filter(|w| !w.draining).map(|w| w.spec)
    }

    /// Returns the specification of a worker, or `None` if it does not exist.
    pub fn spec(&self, id: WorkerId) -> Option<WorkerSpec> {
        self.find(id).map(|worker| worker.spec)
    }

    fn workers(&self) -> impl Iterator<Item = &ScheduledWorker> {
        self.rows.iter().flat_map(|r| &r.workers)
    }

    fn find(&self, id: WorkerId) -> Option<&ScheduledWorker> {
        self.workers().find(|w| w.spec.id == id)
    }

    fn find_mut(&mut self, id: WorkerId) -> Option<&mut ScheduledWorker> {
        let mut all = self.rows.iter_mut().flat_map(|r| &mut r.workers);
        all.find(|w| w.spec.id == id)
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.policy
    }

    /// Returns whether some members have policies other than the policy in force.
    pub fn has_own_policies(&self) -> bool {
        self.own.has_own(self.policy)
    }

    /// Returns the policy of a member.
    fn policy_of(&self, member: MemberIndex) -> MemberPolicy {
        self.own.for_member(member, self.policy)
    }

    /// Changes the policy. Closes open segments, and batches taken but unstarted samples again.
    pub fn set_policy(&mut self, now: Duration, policy: PolicyKind) {
        self.close_segments(Segmenter::close);
        let ahead = self.policy.copies_ahead();
        self.policy = policy;
        for row in &mut self.rows {
            for index in 0..row.workers.len() {
                let ranges = row.give_back(index, ahead);
                let worker = &mut row.workers[index];
                self.queues[worker.spec.member].put_back(ranges);
                worker.follow(now, policy, row.discipline);
            }
            row.trim(policy);
        }
    }

    /// Returns the most samples of a segment.
    pub fn segment(&self) -> usize {
        self.segmenters.first().map_or(1, Segmenter::size)
    }

    /// Changes the size of segments. Closes open segments.
    pub fn set_segment(&mut self, size: usize) {
        self.close_segments(|segmenter| segmenter.resize(size));
    }

    /// Limits the samples in execution on a device under `elastic`. `None` uses the policy's limit.
    pub fn set_max_inf(&mut self, device: DeviceIndex, most: Option<NonZeroU32>) {
        let row = &mut self.rows[device];
        row.max_inf = most;
        if self.policy.copies_ahead() {
            // Samples taken under the old limit return to the queue, because other workers may be
            // able to start them.
            for index in 0..row.workers.len() {
                let ranges = row.give_back(index, true);
                self.queues[row.workers[index].spec.member].put_back(ranges);
            }
            row.trim(self.policy);
        }
    }

    /// Returns the limit set for a device.
    pub fn max_inf(&self, device: DeviceIndex) -> Option<NonZeroU32> {
        self.rows[device].max_inf
    }

    /// Returns the workers that stay, with their work.
    pub fn duties(&self) -> impl Iterator<Item = Duty> + '_ {
        let staying = self.workers().filter(|w| !w.draining);
        staying.map(|w| Duty {
            spec: w.spec,
            alive: w.lanes.alive(),
            waiting: w.current.samples(),
        })
    }

    /// Records a finished batch, whatever its outcome.
    pub fn finish(&mut self, now: Duration, over: FinishedBatch<'_>) {
        self.rows[over.device].finish(now, over);
    }

    /// Loses a device with its workers. Their taken samples return to the queues, together with
    /// `ranges` (by member) of batches in execution. The batches in `left` still end.
    pub fn lose(
        &mut self,
        device: DeviceIndex,
        ranges: Vec<(MemberIndex, Range)>,
        left: Left,
    ) -> Vec<WorkerSpec> {
        let row = &mut self.rows[device];
        let workers = row.lose(left);
        for mut worker in workers.iter().cloned() {
            let taken = worker.give_back();
            self.queues[worker.spec.member].put_back(taken);
        }
        for (member, range) in ranges {
            self.queues[member].put_back(vec![range]);
        }
        workers.iter().map(|w| w.spec).collect()
    }

    /// Marks a lost device as available again, without workers.
    pub fn regain(&mut self, device: DeviceIndex) {
        self.rows[device].lost = false;
    }

    /// Returns whether a device is lost.
    pub fn is_lost(&self, device: DeviceIndex) -> bool {
        self.rows[device].lost
    }

    /// Adds a range to a member's queue.
    pub fn submit(&mut self, now: Duration, member: MemberIndex, range: Range) {
        let (segmenter, queue) = (&mut self.segmenters[member], &mut self.queues[member]);
        match self.policy {
            PolicyKind::Segment { .. } => queue.put_back(segmenter.push(now, range)),
            _ => queue.push(segmenter.stamp(range)),
        }
    }

    /// Closes open segments with `close`.
    fn close_segments(&mut self, mut close: impl FnMut(&mut Segmenter) -> Vec<Range>) {
        for (segmenter, queue) in self.segmenters.iter_mut().zip(&mut self.queues) {
            queue.put_back(close(segmenter));
        }
    }

    /// Returns the time at which the next open segment must close.
    pub fn next_timer(&self) -> Option<Duration> {
        let wait = self.policy.wait();
        self.segmenters.iter().filter_map(|s| s.due(wait)).min()
    }

    /// Closes the open segments that are due.
    pub fn tick(&mut self, now: Duration) {
        let wait = self.policy.wait();
        self.close_segments(|segmenter| match segmenter.due(wait) {
            Some(due) if due <= now => segmenter.close(),
            _ => Vec::new(),
        });
    }

    /// Returns the samples that wait for a member, including those copied ahead.
    pub fn queued(&self, member: MemberIndex) -> usize {
        let taken = self.workers().filter(|w| w.spec.member == member);
        let taken: usize = taken.map(|w| w.current.samples()).sum();
        self.queues[member].samples() + taken
    }

    /// Removes the samples at these positions that wait for these steps from queues and from
    /// workers that have not started them. Does not examine other samples.
    pub fn remove_samples(
        &mut self,
        orders: &ops::Range<SampleOrder>,
        steps: StepFilter<'_>,
    ) -> Vec<Range> {
        let mut removed = Vec::new();
        for (segmenter, queue) in self.segmenters.iter_mut().zip(&mut self.queues) {
            removed.extend(segmenter.remove(orders, steps));
            removed.extend(queue.remove(orders, steps));
        }
        let ahead = self.policy.copies_ahead();
        for row in &mut self.rows {
            self.looked_at += row.workers.len() as u64;
            let ranges = row.remove_samples(orders, steps);
            row.release(&ranges, ahead);
            removed.extend(ranges);
        }
        self.looked_at += (2 * self.queues.len() + removed.len()) as u64;
        removed
    }

    /// Returns the number of places examined for samples to remove: queues, workers, and removed
    /// ranges.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }
}
