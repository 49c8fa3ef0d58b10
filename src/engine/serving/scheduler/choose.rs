//! The choice of a device's next action, and the batches and copies that it could start, told
//! without starting them.

use std::time::Duration;

use crate::serving::batch::{BatchId, Range, Transfer};
use crate::serving::order::SampleOrder;
use crate::serving::policy::{Decision, Lane, QueueState, decide, fitting};
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::ahead::Claim;
use super::device::{Discipline, ScheduledWorker, WorkerSpec};
use super::{ScheduledDevice, Scheduler};

/// A batch about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its number.
    pub id: BatchId,
    /// The worker that runs it.
    pub worker: WorkerSpec,
    /// The lane that runs it.
    pub lane: Lane,
    /// Samples of the worker in execution, these among them.
    pub alive: usize,
    /// Ranges, each with how long it was copied ahead.
    pub ranges: Vec<(Range, Duration)>,
    /// Rows to run: more than the samples where the policy pads.
    pub rows: usize,
    /// Since when the policy held it back although its lane was idle.
    pub held_since: Option<Duration>,
    /// Its samples are in the device's own memory already.
    pub in_pool: bool,
}

/// The scheduler's answer to a device with room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Start this batch.
    Run(Start),
    /// Copy these ahead; it may have more to do at once.
    Copy(Vec<Transfer>),
    /// Nothing unless time passes or something happens ([`Scheduler::wants`]).
    Wait,
}

/// Something that a device could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Run what it has taken, or what others took and cannot start.
    Own,
    /// Take up to so many samples, the oldest number `order`, of a member's queue: others
    /// may do that as well.
    Take {
        /// The member whose queue it takes them from.
        member: MemberIndex,
        /// How many at most.
        samples: usize,
        /// Place of the first of them in the order in which samples run.
        order: SampleOrder,
    },
    /// Nothing before this time; for samples of a member's queue, which others may look at
    /// as well, or for some that it has taken.
    Wait {
        /// The member whose queue it looks at, if it is one.
        member: Option<MemberIndex>,
        /// When.
        at: Duration,
    },
}

enum Choice {
    Claim(Claim),
    Run(usize),
    Wait,
}

/// When a worker can start a batch.
enum Ready {
    /// Now; holds the order of its oldest sample.
    Now(SampleOrder),
    /// At this time, unless more samples come before.
    At(Duration),
    /// Not before something else happens.
    Never,
}

impl Scheduler {
    /// Whether a device would do something now.
    pub fn could_act(&self, now: Duration, device: DeviceIndex) -> bool {
        !matches!(self.choose(now, device), Choice::Wait)
    }

    /// Picks what a device does now; the samples leave their queue.
    pub fn next(&mut self, now: Duration, device: DeviceIndex) -> Pick {
        match self.choose(now, device) {
            Choice::Wait => Pick::Wait,
            Choice::Claim(claim) => Pick::Copy(self.claim(now, device, claim)),
            Choice::Run(index) => self.start(now, device, index),
        }
    }

    /// The worker with the oldest sample among those whose policy lets them run.
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

    /// Returns when a worker can start a batch.
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

    /// Of a worker whose oldest sample, number `order`, is in the device's memory or on
    /// its way there.
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

    /// Decides what a worker does with the samples that are in the device's memory.
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

    /// Asks the policy about the queue of a worker's member.
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

    /// Samples that are in the device's memory.
    fn take_ready(&mut self, device: DeviceIndex, index: usize, most: usize) -> Vec<Range> {
        let worker = &mut self.rows[device].workers[index];
        worker.ready = worker.ready.saturating_sub(most);
        worker.current.take(most)
    }

    /// Samples from the queue, or from the segment it took; with the rows to run.
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
    /// Tells all that a device could do now, or later if nothing happens.
    pub fn wants(&self, now: Duration, device: DeviceIndex, mut tell: impl FnMut(Want)) {
        let row = &self.rows[device];
        if row.is_closed() {
            return;
        }
        // Whoever drives it may be building: nobody should wait for that.
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
                // More may come before it asks.
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

    /// Samples in a member's queue that nobody has taken.
    pub fn waiting(&self, member: MemberIndex) -> usize {
        self.queues[member].samples()
    }
}
