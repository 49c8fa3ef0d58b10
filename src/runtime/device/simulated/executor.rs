//! A simulated device as a state machine: it takes jobs, and returns events with their times.
//!
//! A job is copied in, computes its operations one after another, and is copied out. Each direction
//! has one copy engine, which serves jobs in order. Operations of different jobs run concurrently
//! while units are free. A later operation gets the units that earlier ones leave, and no operation
//! is pre-empted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::{Kernel, Law};

/// A job of a simulated device: one batch, or one transfer if it has no operations.
#[derive(Clone, Debug)]
pub struct DeviceJob {
    /// Number of the job.
    pub id: JobId,
    /// Bytes to copy in first; 0 if they are on the device already.
    pub copy_in: u64,
    /// The operations, in order.
    pub kernels: Arc<[Kernel]>,
    /// Bytes to copy out at the end.
    pub copy_out: u64,
}

/// An event of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// Its input is on the device, and its operations begin.
    CopiedIn(JobId),
    /// Its operations are done.
    Computed(JobId),
    /// Its answers are copied out; the job is over.
    Done(JobId),
}

/// The state machine of a simulated device. Its driver provides the time, real or virtual.
#[derive(Clone, Debug)]
pub struct Executor {
    law: Law,
    slowdown: f64,
    jobs: HashMap<JobId, RunningJob>,
    copying_in: TransferQueue,
    copying_out: TransferQueue,
    /// Operations to launch: time in nanoseconds, order, job.
    launches: BinaryHeap<Reverse<(u64, u64, JobId)>>,
    launched: u64,
    units: Units,
    events: Vec<(Duration, JobEvent)>,
}

#[derive(Clone, Debug)]
struct RunningJob {
    job: DeviceJob,
    next: usize,
}

/// The copy engine of one direction, with its transfers in order.
#[derive(Clone, Debug, Default)]
struct TransferQueue {
    queue: VecDeque<(JobId, u64)>,
    ends: Option<u64>,
}

impl Executor {
    /// Creates an idle device.
    pub fn new(law: Law) -> Self {
        Executor {
            slowdown: 1.0,
            jobs: HashMap::new(),
            copying_in: TransferQueue::default(),
            copying_out: TransferQueue::default(),
            launches: BinaryHeap::new(),
            launched: 0,
            units: Units::new(law.units),
            events: Vec::new(),
            law,
        }
    }

    /// Makes operations take `factor` times as long from now on.
    pub fn set_slowdown(&mut self, factor: f64) {
        self.slowdown = factor.max(1e-3);
    }

    /// Starts a job.
    pub fn submit(&mut self, now: Duration, job: DeviceJob) {
        let (id, bytes, now) = (job.id, job.copy_in, nanos(now));
        // Jobs that ended must not begin afterwards: the next advance returns their events.
        self.run_until(now);
        self.jobs.insert(id, RunningJob { job, next: 0 });
        if bytes == 0 {
            return self.copied_in(now, id);
        }
        self.copying_in.queue.push_back((id, bytes));
        self.copying_in.start(now, &self.law);
    }

    /// Returns the time of the next event or of the next step towards it, or `None` if the
    /// device is idle.
    pub fn next_event(&self) -> Option<Duration> {
        if let Some((at, _)) = self.events.first() {
            return Some(*at);
        }
        self.next().map(Duration::from_nanos)
    }

    /// Returns the time of the next event that [`Executor::advance`] returns if nothing is
    /// submitted before it, or `None` if the device is idle. A copy of the state steps through the
    /// operations in between.
    pub fn foresee(&self) -> Option<Duration> {
        let mut ahead = self.clone();
        while ahead.events.is_empty() {
            let at = ahead.next()?;
            ahead.step(at);
        }
        ahead.next_event()
    }

    /// Advances to `now`, and returns the events up to then with their times, in order.
    pub fn advance(&mut self, now: Duration) -> Vec<(Duration, JobEvent)> {
        self.run_until(nanos(now));
        std::mem::take(&mut self.events)
    }

    fn run_until(&mut self, now: u64) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            self.step(at);
        }
    }

    /// Forgets every job, as if the device was lost.
    pub fn clear(&mut self) {
        *self = Executor {
            slowdown: self.slowdown,
            ..Executor::new(self.law)
        };
    }

    fn next(&self) -> Option<u64> {
        let launch = self.launches.peek().map(|Reverse((at, _, _))| *at);
        [
            self.copying_in.ends,
            self.copying_out.ends,
            launch,
            self.units.next_end(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles everything that happens at `at`.
    fn step(&mut self, at: u64) {
        for id in self.units.take_done(at) {
            self.operation_done(at, id);
        }
        if let Some(id) = self.copying_in.finish(at) {
            self.copied_in(at, id);
            self.copying_in.start(at, &self.law);
        }
        if let Some(id) = self.copying_out.finish(at) {
            self.done(at, id);
            self.copying_out.start(at, &self.law);
        }
        while let Some(&Reverse((due, _, id))) = self.launches.peek() {
            if due > at {
                break;
            }
            self.launches.pop();
            if let Some(running) = self.jobs.get(&id) {
                let kernel = running.job.kernels[running.next];
                let seconds = kernel.seconds * self.slowdown;
                self.units.enter(at, id, Kernel { seconds, ..kernel });
            }
        }
    }

    fn copied_in(&mut self, at: u64, id: JobId) {
        self.say(at, JobEvent::CopiedIn(id));
        self.launch_next(at, id);
    }

    fn operation_done(&mut self, at: u64, id: JobId) {
        if let Some(running) = self.jobs.get_mut(&id) {
            running.next += 1;
            self.launch_next(at, id);
        }
    }

    fn launch_next(&mut self, at: u64, id: JobId) {
        let Some(running) = self.jobs.get(&id) else {
            return;
        };
        if running.next < running.job.kernels.len() {
            self.launched += 1;
            let due = at.saturating_add(seconds(self.law.launch * self.slowdown));
            return self.launches.push(Reverse((due, self.launched, id)));
        }
        let bytes = running.job.copy_out;
        self.say(at, JobEvent::Computed(id));
        if bytes == 0 {
            return self.done(at, id);
        }
        self.copying_out.queue.push_back((id, bytes));
        self.copying_out.start(at, &self.law);
    }

    fn done(&mut self, at: u64, id: JobId) {
        self.jobs.remove(&id);
        self.say(at, JobEvent::Done(id));
    }

    fn say(&mut self, at: u64, event: JobEvent) {
        self.events.push((Duration::from_nanos(at), event));
    }
}

impl TransferQueue {
    /// Starts the first transfer of the queue if none is under way.
    fn start(&mut self, at: u64, law: &Law) {
        if let (None, Some((_, bytes))) = (self.ends, self.queue.front()) {
            self.ends = Some(at.saturating_add(seconds(law.copy(*bytes))));
        }
    }

    fn finish(&mut self, at: u64) -> Option<JobId> {
        self.ends.take_if(|end| *end <= at)?;
        self.queue.pop_front().map(|(id, _)| id)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The number of a job, chosen by its submitter.
pub type JobId = u64;

/// The units of a device. Operations share them in the order of their start: an earlier operation
/// gets the units it needs if enough are free. Later operations get the rest, and more as units
/// become free.
#[derive(Clone, Debug)]
struct Units {
    units: u32,
    active: Vec<Active>,
    /// The time up to which progress is accounted for, in nanoseconds.
    at: u64,
}

#[derive(Clone, Debug)]
struct Active {
    job: JobId,
    units: u32,
    /// Seconds left with all its units.
    left: f64,
    /// Share of its units that it has, from 0 to 1.
    share: f64,
    ends: u64,
}

impl Units {
    /// Creates idle units.
    fn new(units: u32) -> Self {
        Units {
            units,
            active: Vec::new(),
            at: 0,
        }
    }

    /// Starts an operation.
    fn enter(&mut self, at: u64, job: JobId, kernel: Kernel) {
        self.progress(at);
        self.active.push(Active {
            job,
            units: kernel.units.clamp(1, self.units),
            left: kernel.seconds,
            share: 0.0,
            ends: u64::MAX,
        });
        self.share_out();
    }

    /// Returns the time at which the next operation is done, or `None` if none is under way.
    fn next_end(&self) -> Option<u64> {
        self.active.iter().map(|a| a.ends).min()
    }

    /// Removes the operations that are done at `at`, and returns their jobs.
    fn take_done(&mut self, at: u64) -> Vec<JobId> {
        if self.next_end().is_none_or(|end| end > at) {
            return Vec::new();
        }
        self.progress(at);
        let done = self.active.extract_if(.., |a| a.ends <= at);
        let done = done.map(|a| a.job).collect();
        self.share_out();
        done
    }

    fn progress(&mut self, at: u64) {
        let passed = at.saturating_sub(self.at) as f64 / 1e9;
        for active in &mut self.active {
            active.left = (active.left - passed * active.share).max(0.0);
        }
        self.at = at;
    }

    fn share_out(&mut self) {
        let mut free = self.units;
        for active in &mut self.active {
            let got = active.units.min(free);
            free -= got;
            active.share = f64::from(got) / f64::from(active.units);
            active.ends = match got {
                0 => u64::MAX,
                _ => self.at.saturating_add(seconds(active.left / active.share)),
            };
        }
    }
}

/// Returns seconds as whole nanoseconds, at least one, so that time always advances.
fn seconds(seconds: f64) -> u64 {
    ((seconds * 1e9).ceil() as u64).max(1)
}
