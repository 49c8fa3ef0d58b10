//! A device in the scheduler: a row of the matrix with its workers.

use std::num::NonZeroU32;
use std::ops;
use std::time::Duration;

use crate::serving::batch::{BatchId, Range, WorkerId};
use crate::serving::order::SampleOrder;
use crate::serving::policy::{Beside, Lanes, lane_sizes};
use crate::serving::queue::{MemberQueue, StepFilter};
use divisi_model::ensemble::{BatchSize, ComputedMember, MemberPrecision, PolicyKind};
use divisi_runtime::device::{DeviceIndex, DeviceKind, MemberIndex};

use super::pool::{DevicePool, key};

/// The way in which a device runs its workers' batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One batch at a time, like a CPU partition.
    OneAtATime,
    /// Lanes run side by side, and inputs are copied to the device's own memory.
    SideBySide(Beside),
}

impl Discipline {
    /// The discipline of GPUs.
    pub const GPU: Self = Discipline::SideBySide(Beside::Half);

    /// Returns the discipline of a kind of device.
    pub fn for_kind(kind: &DeviceKind) -> Self {
        match kind {
            DeviceKind::Gpu { .. } => Discipline::GPU,
            // As in the paper, whose measurements their law was fitted to.
            _ if kind.is_concurrent() => Discipline::SideBySide(Beside::Any),
            _ => Discipline::OneAtATime,
        }
    }

    /// Returns whether lanes run side by side.
    pub fn is_concurrent(self) -> bool {
        matches!(self, Discipline::SideBySide(_))
    }
}

/// A worker: its cell in the matrix, its batch size and its precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSpec {
    /// The number of the worker.
    pub id: WorkerId,
    /// The device: a row of the matrix.
    pub device: DeviceIndex,
    /// The member: a column of the matrix.
    pub member: MemberIndex,
    /// The most rows of its batches.
    pub size: BatchSize,
    /// The precision of its member.
    pub precision: MemberPrecision,
}

impl WorkerSpec {
    /// Returns the network of the worker.
    pub fn network(&self) -> ComputedMember {
        ComputedMember {
            member: self.member,
            precision: self.precision,
        }
    }
}

/// A finished batch.
#[derive(Clone, Copy, Debug)]
pub struct FinishedBatch<'a> {
    /// The device of the batch.
    pub device: DeviceIndex,
    /// The member of the batch.
    pub member: MemberIndex,
    /// The worker of the batch.
    pub worker: WorkerId,
    /// The number of the worker.
    pub batch: BatchId,
    /// Whether it read its samples from the device's pool.
    pub in_pool: bool,
    /// The samples.
    pub ranges: &'a [Range],
}

/// Batches of a lost device that were being folded and still end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The number of batches.
    pub batches: usize,
    /// The samples of those batches.
    pub samples: usize,
}

/// A device in the scheduler.
#[derive(Clone, Debug)]
pub(super) struct ScheduledDevice {
    /// The way in which it runs batches.
    pub discipline: Discipline,
    /// Its workers.
    pub workers: Vec<ScheduledWorker>,
    /// The device's own `max_inf`, which overrides the elastic policy's.
    pub max_inf: Option<NonZeroU32>,
    /// Samples in execution.
    pub alive: usize,
    /// Batches in execution.
    pub batches: usize,
    /// The end of its last batch.
    pub idle_since: Duration,
    /// Whether it is lost.
    pub lost: bool,
    /// The samples in its memory.
    pub pool: DevicePool,
}

impl ScheduledDevice {
    /// Creates a device without workers.
    pub(super) fn new(discipline: Discipline) -> Self {
        ScheduledDevice {
            discipline,
            workers: Vec::new(),
            max_inf: None,
            alive: 0,
            batches: 0,
            idle_since: Duration::ZERO,
            lost: false,
            pool: DevicePool::default(),
        }
    }

    /// Returns the most samples in execution under `policy`.
    pub(super) fn most_alive(&self, policy: PolicyKind) -> usize {
        let PolicyKind::Elastic { max_inf } = policy else {
            return usize::MAX;
        };
        let set = self.max_inf.or(max_inf).map(|n| n.get() as usize);
        set.unwrap_or_else(|| self.workers.iter().map(|w| w.spec.size.get()).sum())
    }

    /// Drops unneeded parts while the pool holds more than its workers' share: several times their
    /// batches, or several times the limit of samples in execution if that is less.
    pub(super) fn trim(&mut self, policy: PolicyKind) {
        let batches: usize = self.workers.iter().map(|w| w.spec.size.get()).sum();
        let most = match policy.copies_ahead() {
            true => batches.min(self.most_alive(policy)),
            false => 0,
        };
        self.pool.trim(most * PolicyKind::POOL);
    }

    /// Returns the samples that can start now.
    pub(super) fn room(&self, policy: PolicyKind) -> usize {
        self.most_alive(policy).saturating_sub(self.alive)
    }

    /// Returns the samples that its workers took but did not start.
    pub(super) fn taken(&self) -> usize {
        self.workers.iter().map(|w| w.current.samples()).sum()
    }

    /// Returns the samples that a busy worker can take for its next batch: the size of its largest
    /// lane.
    pub(super) fn look_ahead(&self, policy: PolicyKind, worker: &ScheduledWorker) -> usize {
        let lane = match policy {
            PolicyKind::Elastic { .. } => worker.spec.size.get().div_ceil(2),
            _ => worker.spec.size.get(),
        };
        lane.min(self.most_alive(policy))
            .saturating_sub(worker.current.samples())
    }

    /// Returns the taken but unstarted samples of a worker to the caller. `ahead` is true if they
    /// are in the pool.
    pub(super) fn give_back(&mut self, index: usize, ahead: bool) -> Vec<Range> {
        let ranges = self.workers[index].give_back();
        self.release(&ranges, ahead);
        ranges
    }

    /// Releases samples that a worker took and will not start. `ahead` is true if they are in the
    /// pool.
    pub(super) fn release(&mut self, ranges: &[Range], ahead: bool) {
        for range in ranges.iter().filter(|_| ahead) {
            self.pool.release(key(range), range.len);
        }
    }

    /// Returns whether the device can start nothing, whatever waits.
    pub(super) fn is_closed(&self) -> bool {
        self.lost || (self.discipline == Discipline::OneAtATime && self.batches > 0)
    }

    /// Records a finished batch.
    pub(super) fn finish(&mut self, now: Duration, over: FinishedBatch<'_>) {
        let mut workers = self.workers.iter_mut();
        if let Some(worker) = workers.find(|w| w.spec.id == over.worker) {
            worker.lanes.finish(now, over.batch);
        }
        let samples: usize = over.ranges.iter().map(|r| r.len).sum();
        self.batches = self.batches.saturating_sub(1);
        self.alive = self.alive.saturating_sub(samples);
        self.idle_since = now;
        for range in over.ranges.iter().filter(|_| over.in_pool) {
            self.pool.release(key(range), range.len);
        }
    }

    /// Removes all workers permanently.
    pub(super) fn lose(&mut self, left: Left) -> Vec<ScheduledWorker> {
        self.lost = true;
        self.alive = left.samples;
        self.batches = left.batches;
        self.pool.clear();
        std::mem::take(&mut self.workers)
    }

    /// Removes the waiting ones of these samples from its workers.
    pub(super) fn remove_samples(
        &mut self,
        orders: &ops::Range<SampleOrder>,
        steps: StepFilter<'_>,
    ) -> Vec<Range> {
        let mut removed = Vec::new();
        for worker in &mut self.workers {
            let taken = worker.current.remove(orders, steps);
            if !taken.is_empty() {
                worker.ready = self.pool.ready(&worker.current);
            }
            removed.extend(taken);
        }
        removed
    }
}

/// A worker in the scheduler.
#[derive(Clone, Debug)]
pub(super) struct ScheduledWorker {
    /// The identity, member and batch size.
    pub spec: WorkerSpec,
    /// Whether it is leaving and starts nothing more.
    pub draining: bool,
    /// Whether its network panicked, so that it starts nothing until it is rebuilt.
    pub rebuilding: bool,
    /// Samples that it took but did not start: the rest of a segment, or samples copied ahead.
    pub current: MemberQueue,
    /// The samples at the front of `current` that are in the device's memory.
    pub ready: usize,
    /// Its lanes.
    pub lanes: Lanes,
}

impl ScheduledWorker {
    /// Creates an idle worker.
    pub(super) fn new(
        now: Duration,
        spec: WorkerSpec,
        policy: PolicyKind,
        discipline: Discipline,
    ) -> Self {
        ScheduledWorker {
            lanes: Lanes::new(now, &sizes(spec, policy, discipline)),
            spec,
            draining: false,
            rebuilding: false,
            current: MemberQueue::default(),
            ready: 0,
        }
    }

    /// Changes the policy.
    pub(super) fn follow(&mut self, now: Duration, policy: PolicyKind, discipline: Discipline) {
        self.lanes
            .replace(now, &sizes(self.spec, policy, discipline));
    }

    /// Returns whether it can start batches.
    pub(super) fn takes_batches(&self) -> bool {
        !self.draining && !self.rebuilding
    }

    /// Removes and returns the samples that it took but did not start.
    pub(super) fn give_back(&mut self) -> Vec<Range> {
        self.ready = 0;
        self.current.take(usize::MAX)
    }
}

fn sizes(spec: WorkerSpec, policy: PolicyKind, discipline: Discipline) -> Vec<usize> {
    lane_sizes(policy, spec.size, discipline.is_concurrent())
}
