//! The choice of a device's next action, and the batches and copies that it could start.

use std::time::Duration;

use crate::serving::batch::{BatchId, Range, Transfer};
use crate::serving::order::SampleOrder;
use crate::serving::policy::{Decision, Lane, QueueState, decide, fitting};
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::ahead::Claim;
use super::device::{Discipline, ScheduledWorker, WorkerSpec};
use super::{ScheduledDevice, Scheduler};

/// A batch to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The number of the batch.
    pub id: BatchId,
    /// The worker for the batch.
    pub worker: WorkerSpec,
    /// The lane for the batch.
    pub lane: Lane,
    /// The worker's samples in execution, including these.
    pub alive: usize,
    /// The ranges, each with the time for which it was copied ahead.
    pub ranges: Vec<(Range, Duration)>,
    /// The rows to run. More than the samples if the policy pads.
    pub rows: usize,
    /// The time since when the policy has held the batch back on an idle lane, or `None`.
    pub held_since: Option<Duration>,
    /// Whether the samples are already in the device's own memory.
    pub in_pool: bool,
}

/// The scheduler's answer to a device that is ready for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Start this batch.
    Run(Start),
    /// Copy these parts ahead. There may be more work at once.
    Copy(Vec<Transfer>),
    /// Wait for time to pass or for an event ([`Scheduler::wants`]).
    Wait,
}

/// Work that a device could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Run samples that it has taken, or that others took and cannot start.
    Own,
    /// Take samples of a member's queue, which other devices can also do.
    Take {
        /// The member of the queue.
        member: MemberIndex,
        /// The most samples to take.
        samples: usize,
        /// The position of the first sample in the order of execution.
        order: SampleOrder,
    },
    /// Wait until this time: for samples of a member's queue, which other devices can also check,
    /// or for samples that it has taken.
    Wait {
        /// The member of the queue, or `None` for taken samples.
        member: Option<MemberIndex>,
        /// The time.
        at: Duration,
    },
}

enum Choice {
    Claim(Claim),
    Run(usize),
    Wait,
}

/// The readiness of a worker to start a batch.
enum Ready {
    /// Ready now; holds the position of the oldest sample.
    Now(SampleOrder),
    /// Ready at this time, unless more samples arrive earlier.
    At(Duration),
    /// Not ready until another event.
    Never,
}

impl Scheduler {
    /// Returns whether a device has work now.
    pub fn could_act(&self, now: Duration, device: DeviceIndex) -> bool {
        !matches!(self.choose(now, device), Choice::Wait)
    }

    /// Returns a device's next action and takes the samples from their queue.
    pub fn next(&mut self, now: Duration, device: DeviceIndex) -> Pick {
        match self.choose(now, device) {
            Choice::Wait => Pick::Wait,
            Choice::Claim(claim) => Pick::Copy(self.claim(now, device, claim)),
            Choice::Run(index) => self.start(now, device, index),
        }
    }

    /// Returns the worker with the oldest sample among those that can run under their policy.
    fn choose(&self, now: Duration, device: DeviceIndex) -> Choice {
        let row = &self.rows[device];
        if row.is_closed() {
            return Choice::Wait;
        }
        if let Some(claim) = self.claimant(device) {
            return Choice::Claim(claim);
        }
        let mut best: Option<(SampleOrder, usize)> = None;
        for (index, worker) in row.workers.iter().enumerate() {
            match self.readiness(now, row, worker) {
                Ready::Now(order) if best.is_none_or(|(oldest, _)| order < oldest) => {
                    best = Some((order, index));
                }
                Ready::Now(_) | Ready::At(_) | Ready::Never => {}
            }
        }
        match best {
            Some((_, index)) => Choice::Run(index),
            None => Choice::Wait,
        }
    }

    /// Returns the readiness of a worker.
    fn readiness(&self, now: Duration, row: &ScheduledDevice, worker: &ScheduledWorker) -> Ready {
        if worker.rebuilding || worker.lanes.smallest_idle(1).is_none() {
            return Ready::Never;
        }
        let ahead = self.is_ahead(row);
        if let Some((_, order)) = worker.current.oldest() {
            return match ahead {
                true => self.ahead_readiness(now, row, worker, order),
                false => Ready::Now(order),
            };
        }
        let queue = &self.queues[worker.spec.member];
        let oldest = queue.oldest().filter(|_| !worker.draining);
        let Some((_, order)) = oldest.filter(|_| !ahead) else {
            return Ready::Never;
        };
        match self.decide(now, row, worker) {
            Decision::Run { .. } | Decision::TakeSegment => Ready::Now(order),
            Decision::WaitUntil(at) => Ready::At(at),
            Decision::Idle => Ready::Never,
        }
    }

    /// Returns the readiness of a worker whose oldest sample, at position `order`, is in the
    /// device's memory or being copied there.
    fn ahead_readiness(
        &self,
        now: Duration,
        row: &ScheduledDevice,
        worker: &ScheduledWorker,
        order: SampleOrder,
    ) -> Ready {
        match self.ahead_batch(now, row, worker) {
            Decision::Run { .. } => Ready::Now(order),
            Decision::WaitUntil(at) => Ready::At(at),
            Decision::TakeSegment | Decision::Idle => Ready::Never,
        }
    }

    /// Decides about the samples of a worker that are in the device's memory.
    fn ahead_batch(
        &self,
        now: Duration,
        row: &ScheduledDevice,
        worker: &ScheduledWorker,
    ) -> Decision {
        let room = row.room(self.policy);
        if let (PolicyKind::Elastic { .. }, Discipline::SideBySide(beside)) =
            (self.policy, row.discipline)
        {
            let lane = worker.lanes.elastic(fitting(worker.ready, room), beside);
            return lane.map_or(Decision::Idle, |lane| Decision::Run {
                samples: lane.size,
                rows: lane.size,
            });
        }
        let oldest = worker.current.oldest().map(|(arrived, _)| arrived);
        let state = QueueState {
            samples: worker.ready,
            oldest: oldest.filter(|_| worker.ready > 0),
            room,
        };
        decide(
            self.policy_of(worker.spec.member),
            worker.spec.size,
            state,
            now,
        )
    }

    /// Applies the policy to the queue of a worker's member.
    fn decide(&self, now: Duration, row: &ScheduledDevice, worker: &ScheduledWorker) -> Decision {
        let queue = &self.queues[worker.spec.member];
        let state = QueueState {
            samples: queue.samples(),
            oldest: queue.oldest().map(|(arrived, _)| arrived),
            room: row.room(self.policy),
        };
        decide(
            self.policy_of(worker.spec.member),
            worker.spec.size,
            state,
            now,
        )
    }

    fn start(&mut self, now: Duration, device: DeviceIndex, index: usize) -> Pick {
        let row = &self.rows[device];
        let worker = &row.workers[index];
        let ahead = self
            .is_ahead(row)
            .then(|| self.ahead_batch(now, row, worker));
        let samples = match ahead {
            None => 1,
            Some(Decision::Run { samples, .. }) => samples,
            Some(_) => return Pick::Wait,
        };
        let Some(lane) = worker.lanes.smallest_idle(samples) else {
            return Pick::Wait;
        };
        let (ranges, rows) = match ahead {
            Some(_) => (self.take_ready(device, index, samples), samples),
            None => self.take_waiting(now, device, index),
        };
        Pick::Run(self.begin(device, index, lane, ranges, rows))
    }

    /// Takes samples that are in the device's memory.
    fn take_ready(&mut self, device: DeviceIndex, index: usize, most: usize) -> Vec<Range> {
        let worker = &mut self.rows[device].workers[index];
        worker.ready = worker.ready.saturating_sub(most);
        worker.current.take(most)
    }

    /// Takes samples from the queue, or from the worker's segment. Returns them with the rows to
    /// run.
    fn take_waiting(
        &mut self,
        now: Duration,
        device: DeviceIndex,
        index: usize,
    ) -> (Vec<Range>, usize) {
        let row = &self.rows[device];
        let decision = self.decide(now, row, &row.workers[index]);
        let worker = &mut self.rows[device].workers[index];
        let queue = &mut self.queues[worker.spec.member];
        if worker.current.samples() == 0 {
            if let Decision::Run { samples, rows } = decision {
                return (queue.take(samples), rows);
            }
            for range in queue.take_segment() {
                worker.current.push(range);
            }
        }
        let ranges = worker.current.take(worker.spec.size.get());
        let rows = ranges.iter().map(|r| r.len).sum();
        (ranges, rows)
    }

    fn begin(
        &mut self,
        device: DeviceIndex,
        index: usize,
        lane: Lane,
        ranges: Vec<Range>,
        rows: usize,
    ) -> Start {
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        let member = self.rows[device].workers[index].spec.member;
        let waits = self.policy_of(member).kind.wait() > Duration::ZERO;
        let row = &mut self.rows[device];
        let side_by_side = row.discipline.is_concurrent();
        let worker = &mut row.workers[index];
        let idle_since = match side_by_side {
            true => worker.lanes.idle_since(lane),
            false => row.idle_since,
        };
        let samples = ranges.iter().map(|r| r.len).sum();
        worker.lanes.start(lane, id, samples);
        row.alive += samples;
        row.batches += 1;
        let (in_pool, pool) = (side_by_side && self.policy.copies_ahead(), &row.pool);
        let copied_for = |range: &Range| pool.copied_for(range);
        Start {
            id,
            worker: worker.spec,
            lane,
            alive: worker.lanes.alive(),
            ranges: ranges.iter().map(|r| (*r, copied_for(r))).collect(),
            rows,
            held_since: waits.then_some(idle_since),
            in_pool,
        }
    }
}

impl Scheduler {
    /// Reports all work that a device could do now, or later if nothing happens.
    pub fn wants(&self, now: Duration, device: DeviceIndex, mut tell: impl FnMut(Want)) {
        let row = &self.rows[device];
        if row.is_closed() {
            return;
        }
        // Its driver may be busy with the rebuild, so no other device waits for it.
        let building = row.workers.iter().any(|w| w.rebuilding);
        for (index, worker) in row.workers.iter().enumerate() {
            let wants = [
                self.wants_ahead(row, index, worker),
                self.wants_to_run(now, row, worker),
            ];
            for want in wants.into_iter().flatten() {
                match want {
                    Want::Take { .. } if building => tell(Want::Own),
                    want => tell(want),
                }
            }
        }
    }

    fn wants_ahead(
        &self,
        row: &ScheduledDevice,
        index: usize,
        worker: &ScheduledWorker,
    ) -> Option<Want> {
        if !self.is_ahead(row) || !worker.takes_batches() {
            return None;
        }
        let claim = self.claim_of(row, index, worker)?;
        match claim.from {
            Some(_) => Some(Want::Own),
            None => self.take(worker, claim.most),
        }
    }

    fn wants_to_run(
        &self,
        now: Duration,
        row: &ScheduledDevice,
        worker: &ScheduledWorker,
    ) -> Option<Want> {
        let own = worker.current.samples() > 0;
        match self.readiness(now, row, worker) {
            Ready::Never => None,
            Ready::Now(_) if own => Some(Want::Own),
            Ready::Now(_) => match self.decide(now, row, worker) {
                // More samples may arrive before the device asks for work.
                Decision::Run { .. } => {
                    self.take(worker, worker.spec.size.get().min(row.room(self.policy)))
                }
                _ => self.take(worker, self.queues[worker.spec.member].segment_samples()),
            },
            Ready::At(at) => Some(Want::Wait {
                member: (!own).then_some(worker.spec.member),
                at,
            }),
        }
    }

    fn take(&self, worker: &ScheduledWorker, samples: usize) -> Option<Want> {
        let member = worker.spec.member;
        let (_, order) = self.queues[member].oldest()?;
        Some(Want::Take {
            member,
            samples,
            order,
        })
    }

    /// Returns the samples in a member's queue that no worker has taken.
    pub fn waiting(&self, member: MemberIndex) -> usize {
        self.queues[member].samples()
    }
}
