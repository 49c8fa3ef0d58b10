//! One device as the scheduler sees it, a row of the matrix, with its workers.

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

/// How a device runs the batches of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One batch at a time, as a CPU partition does.
    OneAtATime,
    /// Lanes run beside each other; inputs are copied to memory of its own.
    SideBySide(Beside),
}

impl Discipline {
    /// That of GPUs.
    pub const GPU: Self = Discipline::SideBySide(Beside::Half);

    /// That of a kind of device.
    pub fn of(kind: &DeviceKind) -> Self {
        match kind {
            DeviceKind::Gpu { .. } => Discipline::GPU,
            // They follow the paper, which their law was fitted to.
            _ if kind.is_concurrent() => Discipline::SideBySide(Beside::Any),
            _ => Discipline::OneAtATime,
        }
    }

    /// Whether lanes run beside each other.
    pub fn is_concurrent(self) -> bool {
        matches!(self, Discipline::SideBySide(_))
    }
}

/// Which worker: its place in the matrix, its batch size and its precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSpec {
    /// Its number.
    pub id: WorkerId,
    /// The device: a row of the matrix.
    pub device: DeviceIndex,
    /// The member: a column of the matrix.
    pub member: MemberIndex,
    /// Rows of its batches at most.
    pub size: BatchSize,
    /// The numbers that its member is computed in.
    pub precision: MemberPrecision,
}

impl WorkerSpec {
    /// Returns the network that it runs.
    pub fn network(&self) -> ComputedMember {
        ComputedMember {
            member: self.member,
            precision: self.precision,
        }
    }
}

/// A batch that is over.
#[derive(Clone, Copy, Debug)]
pub struct FinishedBatch<'a> {
    /// The device that ran it.
    pub device: DeviceIndex,
    /// The member that it was for.
    pub member: MemberIndex,
    /// The worker that ran it.
    pub worker: WorkerId,
    /// Its number.
    pub batch: BatchId,
    /// It read its samples from the device's pool.
    pub in_pool: bool,
    /// Its samples.
    pub ranges: &'a [Range],
}

/// Batches of a device that is gone that end still, since they were being folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Batches.
    pub batches: usize,
    /// Samples of those batches.
    pub samples: usize,
}

/// A device as the scheduler sees it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledDevice {
    /// How it runs batches.
    pub discipline: Discipline,
    /// Its workers.
    pub workers: Vec<ScheduledWorker>,
    /// Its own `max_inf`, in place of the elastic policy's.
    pub max_inf: Option<NonZeroU32>,
    /// Samples in execution.
    pub alive: usize,
    /// Batches in execution.
    pub batches: usize,
    /// When its last batch ended.
    pub idle_since: Duration,
    /// Whether it is lost.
    pub lost: bool,
    /// The samples in its memory.
    pub pool: DevicePool,
}

impl ScheduledDevice {
    /// A device without workers.
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

    /// Samples that may be alive at most under `policy`.
    pub(super) fn most_alive(&self, policy: PolicyKind) -> usize {
        let PolicyKind::Elastic { max_inf } = policy else {
            return usize::MAX;
        };
        let set = self.max_inf.or(max_inf).map(|n| n.get() as usize);
        set.unwrap_or_else(|| self.workers.iter().map(|w| w.spec.size.get()).sum())
    }

    /// Lets parts go that nobody needs while its pool holds more than its workers book:
    /// several times their batches, or what may be alive there if that is less.
    pub(super) fn trim(&mut self, policy: PolicyKind) {
        let batches: usize = self.workers.iter().map(|w| w.spec.size.get()).sum();
        let most = match policy.copies_ahead() {
            true => batches.min(self.most_alive(policy)),
            false => 0,
        };
        self.pool.trim(most * PolicyKind::POOL);
    }

    /// Samples that may be started now.
    pub(super) fn room(&self, policy: PolicyKind) -> usize {
        self.most_alive(policy).saturating_sub(self.alive)
    }

    /// Samples that its workers took but did not start.
    pub(super) fn taken(&self) -> usize {
        self.workers.iter().map(|w| w.current.samples()).sum()
    }

    /// Samples that a busy worker may take to have the next batch ready: as many as
    /// its largest lane takes.
    pub(super) fn look_ahead(&self, policy: PolicyKind, worker: &ScheduledWorker) -> usize {
        let lane = match policy {
            PolicyKind::Elastic { .. } => worker.spec.size.get().div_ceil(2),
            _ => worker.spec.size.get(),
        };
        lane.min(self.most_alive(policy))
            .saturating_sub(worker.current.samples())
    }

    /// Takes the samples that a worker took but did not start; `ahead` where they are in the pool.
    pub(super) fn give_back(&mut self, index: usize, ahead: bool) -> Vec<Range> {
        let ranges = self.workers[index].give_back();
        self.release(&ranges, ahead);
        ranges
    }

    /// Samples that a worker took will not be started by it; `ahead` where they are in the pool.
    pub(super) fn release(&mut self, ranges: &[Range], ahead: bool) {
        for range in ranges.iter().filter(|_| ahead) {
            self.pool.release(key(range), range.len);
        }
    }

    /// Whether it can start nothing, whatever waits.
    pub(super) fn is_closed(&self) -> bool {
        self.lost || (self.discipline == Discipline::OneAtATime && self.batches > 0)
    }

    /// A batch is over.
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

    /// Takes every worker out, for good.
    pub(super) fn lose(&mut self, left: Left) -> Vec<ScheduledWorker> {
        self.lost = true;
        self.alive = left.samples;
        self.batches = left.batches;
        self.pool.clear();
        std::mem::take(&mut self.workers)
    }

    /// Takes what waits of these samples out of its workers.
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

/// A worker as the scheduler sees it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledWorker {
    /// Its identity, member and batch size.
    pub spec: WorkerSpec,
    /// Whether it is about to leave and starts nothing more.
    pub draining: bool,
    /// Whether its network panicked; until it is built again it starts nothing.
    pub rebuilding: bool,
    /// Samples that it took but did not start: the rest of a segment, or what is copied ahead.
    pub current: MemberQueue,
    /// Samples at the front of `current` that are in the device's memory.
    pub ready: usize,
    /// Its lanes.
    pub lanes: Lanes,
}

impl ScheduledWorker {
    /// A worker that has nothing to do.
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

    /// Follows another policy.
    pub(super) fn follow(&mut self, now: Duration, policy: PolicyKind, discipline: Discipline) {
        self.lanes
            .replace(now, &sizes(self.spec, policy, discipline));
    }

    /// Whether it may start something.
    pub(super) fn takes_batches(&self) -> bool {
        !self.draining && !self.rebuilding
    }

    /// Returns the samples that it took but did not start.
    pub(super) fn give_back(&mut self) -> Vec<Range> {
        self.ready = 0;
        self.current.take(usize::MAX)
    }
}

fn sizes(spec: WorkerSpec, policy: PolicyKind, discipline: Discipline) -> Vec<usize> {
    lane_sizes(policy, spec.size, discipline.is_concurrent())
}
