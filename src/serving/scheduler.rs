//! Queues, workers and the policy: which worker of a free device runs what.

use std::time::Duration;

use crate::ensemble::{BatchSize, PolicyKind};

use super::batch::{Range, RequestKey, WorkerId};
use super::policy::{Decision, QueueState, decide};
use super::queue::MemberQueue;
use super::segmenter::Segmenter;

/// Which worker: its place in the matrix and its batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSpec {
    pub id: WorkerId,
    pub device: usize,
    pub member: usize,
    pub size: BatchSize,
}

#[derive(Clone, Debug)]
struct Worker {
    spec: WorkerSpec,
    draining: bool,
    /// Its network panicked; until it is built again it starts nothing.
    rebuilding: bool,
    /// What is left of the segment it took.
    current: MemberQueue,
}

/// What a free device does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Run {
        worker: WorkerSpec,
        ranges: Vec<Range>,
        rows: usize,
    },
    /// Nothing before this time (none: nothing at all) unless something happens.
    Wait(Option<Duration>),
}

/// The scheduler of all devices that run one batch at a time.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: PolicyKind,
    queues: Vec<MemberQueue>,
    segmenter: Segmenter,
    workers: Vec<Worker>,
}

impl Scheduler {
    /// No workers yet; segments of `segment` samples.
    pub fn new(members: usize, policy: PolicyKind, segment: usize) -> Self {
        Scheduler {
            policy,
            queues: vec![MemberQueue::default(); members],
            segmenter: Segmenter::new(segment),
            workers: Vec::new(),
        }
    }

    /// Adds a worker that is ready.
    pub fn add(&mut self, spec: WorkerSpec) {
        self.workers.push(Worker {
            spec,
            draining: false,
            rebuilding: false,
            current: MemberQueue::default(),
        });
    }

    /// Lets a worker finish the segment it took and start nothing else.
    pub fn drain(&mut self, id: WorkerId) {
        for worker in self.workers.iter_mut().filter(|w| w.spec.id == id) {
            worker.draining = true;
        }
    }

    /// Whether a draining worker has nothing left that it could start.
    pub fn is_drained(&self, id: WorkerId) -> bool {
        self.find(id)
            .is_none_or(|w| w.draining && (w.rebuilding || w.current.samples() == 0))
    }

    /// Its network panicked: it starts nothing until it is built again.
    pub fn rebuild(&mut self, id: WorkerId) {
        for worker in self.workers.iter_mut().filter(|w| w.spec.id == id) {
            worker.rebuilding = true;
        }
    }

    /// It was built again; false where it left, or is to leave, meanwhile.
    pub fn rebuilt(&mut self, id: WorkerId) -> bool {
        let worker = self.workers.iter_mut().find(|w| w.spec.id == id);
        let Some(worker) = worker.filter(|w| !w.draining) else {
            self.remove(id);
            return false;
        };
        worker.rebuilding = false;
        true
    }

    /// Removes a worker; what it had taken but not started goes back to its queue's front.
    pub fn remove(&mut self, id: WorkerId) {
        if let Some(at) = self.workers.iter().position(|w| w.spec.id == id) {
            let mut worker = self.workers.remove(at);
            let queue = &mut self.queues[worker.spec.member];
            let rest = queue.take(usize::MAX);
            for range in worker.current.take(usize::MAX).into_iter().chain(rest) {
                queue.push(range);
            }
        }
    }

    /// Workers that are to stay: those that take batches, or will once rebuilt.
    pub fn staying(&self) -> impl Iterator<Item = WorkerSpec> + '_ {
        self.workers.iter().filter(|w| !w.draining).map(|w| w.spec)
    }

    fn find(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.iter().find(|w| w.spec.id == id)
    }

    /// The policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.policy
    }

    /// Another policy from now on; an open segment closes as it is.
    pub fn set_policy(&mut self, policy: PolicyKind) {
        let closed = self.segmenter.close();
        self.broadcast(closed);
        self.policy = policy;
    }

    /// Broadcasts a range to every member's queue.
    pub fn submit(&mut self, now: Duration, range: Range) {
        let ready = match self.policy {
            PolicyKind::Segment { .. } => self.segmenter.push(now, range),
            _ => vec![self.segmenter.stamp(range)],
        };
        self.broadcast(ready);
    }

    fn broadcast(&mut self, ranges: Vec<Range>) {
        for range in ranges {
            for queue in &mut self.queues {
                queue.push(range);
            }
        }
    }

    /// When the open segment must be closed.
    pub fn next_timer(&self) -> Option<Duration> {
        self.segmenter.due(self.policy.wait())
    }

    /// Closes the open segment if it is due.
    pub fn tick(&mut self, now: Duration) {
        if self.next_timer().is_some_and(|due| due <= now) {
            let closed = self.segmenter.close();
            self.broadcast(closed);
        }
    }

    /// Samples waiting for a member.
    pub fn queued(&self, member: usize) -> usize {
        self.queues[member].samples()
    }

    /// What a free device would do now: `None` is "run something".
    pub fn peek(&self, now: Duration, device: usize) -> Option<Option<Duration>> {
        match self.choose(now, device) {
            Choice::Run(_) => None,
            Choice::Wait(until) => Some(until),
        }
    }

    /// What a free device does now; the samples leave their queue.
    pub fn next(&mut self, now: Duration, device: usize) -> Pick {
        match self.choose(now, device) {
            Choice::Wait(until) => Pick::Wait(until),
            Choice::Run(index) => self.start(now, index),
        }
    }

    /// The worker with the oldest sample among those whose policy lets them run.
    fn choose(&self, now: Duration, device: usize) -> Choice {
        let mut best: Option<(u64, usize)> = None;
        let mut until: Option<Duration> = None;
        let workers = self.workers.iter().enumerate();
        for (index, worker) in workers.filter(|(_, w)| w.spec.device == device) {
            let order = match self.readiness(now, worker) {
                Ready::Now(order) => order,
                Ready::At(at) => {
                    until = Some(until.map_or(at, |u| u.min(at)));
                    continue;
                }
                Ready::Never => continue,
            };
            if best.is_none_or(|(oldest, _)| order < oldest) {
                best = Some((order, index));
            }
        }
        match best {
            Some((_, index)) => Choice::Run(index),
            None => Choice::Wait(until),
        }
    }

    fn readiness(&self, now: Duration, worker: &Worker) -> Ready {
        if worker.rebuilding {
            return Ready::Never;
        }
        if let Some((_, order)) = worker.current.oldest() {
            return Ready::Now(order);
        }
        let queue = &self.queues[worker.spec.member];
        let Some((oldest, order)) = queue.oldest().filter(|_| !worker.draining) else {
            return Ready::Never;
        };
        let state = QueueState {
            samples: queue.samples(),
            oldest: Some(oldest),
        };
        match decide(self.policy, worker.spec.size, state, now) {
            Decision::Run { .. } | Decision::TakeSegment => Ready::Now(order),
            Decision::WaitUntil(at) => Ready::At(at),
            Decision::Idle => Ready::Never,
        }
    }

    fn start(&mut self, now: Duration, index: usize) -> Pick {
        let worker = &mut self.workers[index];
        let queue = &mut self.queues[worker.spec.member];
        let size = worker.spec.size;
        if worker.current.samples() == 0 {
            let state = QueueState {
                samples: queue.samples(),
                oldest: queue.oldest().map(|(arrived, _)| arrived),
            };
            match decide(self.policy, size, state, now) {
                Decision::Run { samples, rows } => {
                    return Pick::Run {
                        worker: worker.spec,
                        ranges: queue.take(samples),
                        rows,
                    };
                }
                _ => {
                    for range in queue.take_segment() {
                        worker.current.push(range);
                    }
                }
            }
        }
        let ranges = worker.current.take(size.get());
        Pick::Run {
            worker: worker.spec,
            rows: ranges.iter().map(|r| r.len).sum(),
            ranges,
        }
    }

    /// Takes the waiting samples of requests out of everything: one range for every
    /// member that has not run them.
    pub fn remove_requests(&mut self, gone: impl Fn(RequestKey) -> bool) -> Vec<Range> {
        // The open segment has not been broadcast: it counts once for every member.
        let open = self.segmenter.remove(&gone);
        let mut removed = open.repeat(self.queues.len());
        for queue in &mut self.queues {
            removed.extend(queue.remove(&gone));
        }
        for worker in &mut self.workers {
            removed.extend(worker.current.remove(&gone));
        }
        removed
    }
}

enum Choice {
    Run(usize),
    Wait(Option<Duration>),
}

enum Ready {
    Now(u64),
    At(Duration),
    Never,
}
