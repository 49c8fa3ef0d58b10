//! A worker as the scheduler sees it.

use std::time::Duration;

use crate::ensemble::PolicyKind;
use crate::serving::batch::Range;
use crate::serving::lanes::{Lanes, lane_sizes};
use crate::serving::queue::MemberQueue;

use super::row::{Discipline, WorkerSpec};

#[derive(Clone, Debug)]
pub(super) struct ScheduledWorker {
    pub spec: WorkerSpec,
    pub draining: bool,
    /// Its network panicked; until it is built again it starts nothing.
    pub rebuilding: bool,
    /// Samples that it took but did not start: the rest of a segment, or what is copied ahead.
    pub current: MemberQueue,
    /// Samples at the front of `current` that are in the device's memory.
    pub ready: usize,
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
    lane_sizes(policy, spec.size, discipline == Discipline::SideBySide)
}
