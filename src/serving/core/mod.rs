//! The heart of serving as one state machine: door, pool, queues, workers, requests.
//!
//! Every method is an event with the time it happens at; what it returns is what
//! the driver has to do. There is no clock, lock or thread inside.

mod batches;
mod latencies;
mod owed;
mod rest;
mod stats;
mod workers;

use std::collections::{BTreeSet, HashMap};
use std::ops;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::device::{DeviceIndex, MemberIndex};
use crate::ensemble::PolicyKind;
use crate::serving::batch::{BatchId, Range, RequestKey, Slice, WorkerId};
use crate::serving::door::{Door, DoorState, Refused};
use crate::serving::pool::PoolIndex;
use crate::serving::scheduler::{Discipline, Scheduler};

pub use batches::Next;
use batches::RunningBatch;
pub use latencies::{Stamps, batch_spans, transfer_span};
pub use owed::{Finished, Owed};
use rest::DeviceRest;
use stats::{CopyEngine, Done, WorkerTally};
pub use stats::{DeviceStats, Latencies, MemberStats, WorkerStats};
pub(crate) use stats::{MOMENT, MOMENTS};
pub use workers::{PanicWatch, Verdict};

/// The devices, members and pool that a core decides for.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// How each device runs batches.
    pub devices: Vec<Discipline>,
    /// Which input transform each member has.
    pub transforms: Vec<usize>,
    /// Extents of the pool and slots of each (the segment size).
    pub extents: usize,
    /// Samples in a segment at most, at first.
    pub segment: usize,
    /// The policy, at first.
    pub policy: PolicyKind,
}

/// A request that was let in: where its samples go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The request's number.
    pub request: RequestKey,
    /// Where its samples go, part by part.
    pub parts: Vec<Slice>,
}

struct RequestEntry<T> {
    payload: T,
    parts: Vec<PartEntry>,
    samples: usize,
    /// Samples × members not yet folded or dropped.
    left: usize,
    /// Numbers of its samples in order of arrival; none before they are queued.
    orders: ops::Range<u64>,
    submitted: Duration,
    deadline: Option<Duration>,
    failed: bool,
}

struct PartEntry {
    slice: Slice,
    left: usize,
}

/// See the module's text. `T` is what a driver keeps with each request.
pub struct Core<T> {
    members: usize,
    door: Door,
    pool: PoolIndex,
    scheduler: Scheduler,
    requests: HashMap<RequestKey, RequestEntry<T>>,
    deadlines: BTreeSet<(Duration, RequestKey)>,
    running: HashMap<BatchId, RunningBatch>,
    tallies: HashMap<WorkerId, WorkerTally>,
    watches: HashMap<(DeviceIndex, MemberIndex), PanicWatch>,
    restarts: HashMap<(DeviceIndex, MemberIndex), u32>,
    rest: Vec<DeviceRest>,
    /// A device sleeps because another is about to do what it could do too.
    held_back: bool,
    /// Requests that were over and dropped instead of answered.
    dropped: Arc<AtomicU64>,
    member_done: Vec<Done>,
    copies: Vec<CopyEngine>,
    next_request: u64,
    /// No request before this one is under way.
    oldest: u64,
    next_worker: u64,
    next_order: u64,
    live: usize,
    /// The door is closed because a member has no worker.
    orphaned: bool,
    /// Members may be without a worker for a moment.
    reloading: bool,
}

impl<T: Clone> Core<T> {
    /// Nobody works yet and the door is not open.
    pub fn new(config: CoreConfig) -> Self {
        Core {
            members: config.transforms.len(),
            door: Door::default(),
            pool: PoolIndex::new(config.extents, config.segment),
            scheduler: Scheduler::new(
                &config.devices,
                &config.transforms,
                config.policy,
                config.segment,
            ),
            requests: HashMap::new(),
            deadlines: BTreeSet::new(),
            running: HashMap::new(),
            tallies: HashMap::new(),
            watches: HashMap::new(),
            restarts: HashMap::new(),
            rest: vec![DeviceRest::Awake; config.devices.len()],
            held_back: false,
            dropped: Arc::default(),
            member_done: config.transforms.iter().map(|_| Done::new()).collect(),
            copies: config.devices.iter().map(|_| CopyEngine::new()).collect(),
            next_request: 0,
            oldest: 0,
            next_worker: 0,
            next_order: 0,
            live: 0,
            orphaned: false,
            reloading: false,
        }
    }

    /// The door, to open, close and ask.
    pub fn door(&mut self) -> &mut Door {
        &mut self.door
    }

    /// Slots of the pool.
    pub fn capacity(&self) -> usize {
        self.pool.capacity()
    }

    /// Slots of the pool that a request could have now.
    pub fn free(&self) -> usize {
        self.pool.available()
    }

    /// Samples that hold a slot of the pool.
    pub fn pooled(&self) -> usize {
        self.pool.live()
    }

    /// Requests admitted and not yet over.
    pub fn in_flight(&self) -> usize {
        self.live
    }

    /// Requests that were over and that a driver dropped instead of answering them: a
    /// fault, wherever there are any.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Places looked at so far for samples of requests that were given up.
    pub fn looked_at(&self) -> u64 {
        self.scheduler.looked_at()
    }

    /// Samples copied ahead, or on their way, in the memory of a device.
    pub fn copied_ahead(&self, device: DeviceIndex) -> usize {
        self.scheduler.copied_ahead(device)
    }

    /// A request of `samples` knocks. Its samples are to be written where the
    /// admission says, then [`Core::enqueue`] is to be called.
    ///
    /// # Errors
    /// [`Refused`], at once.
    pub fn admit(
        &mut self,
        now: Duration,
        samples: usize,
        deadline: Option<Duration>,
        payload: impl FnOnce(&[Slice]) -> T,
    ) -> Result<Admission, Refused> {
        let (capacity, free) = (self.pool.capacity(), self.pool.available());
        self.door.admit(samples, capacity, free)?;
        let parts = self
            .pool
            .allocate(samples)
            .ok_or(Refused::Full { samples, free })?;
        let request = RequestKey(self.next_request);
        self.next_request += 1;
        let entry = RequestEntry {
            payload: payload(&parts),
            parts: parts
                .iter()
                .map(|&slice| PartEntry {
                    slice,
                    left: slice.len * self.members,
                })
                .collect(),
            samples,
            left: samples * self.members,
            orders: 0..0,
            submitted: now,
            deadline,
            failed: false,
        };
        self.requests.insert(request, entry);
        self.deadlines.extend(deadline.map(|at| (at, request)));
        self.live += 1;
        Ok(Admission { request, parts })
    }

    /// The samples are written: every member's queue gets them.
    pub fn enqueue(&mut self, now: Duration, request: RequestKey) {
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        if entry.failed {
            // Given up while its samples were being written: nobody will read them.
            drop(self.abandon(request));
            return;
        }
        let mut order = self.next_order;
        self.next_order += entry.samples as u64;
        entry.orders = order..self.next_order;
        let lens: Vec<usize> = entry.parts.iter().map(|p| p.slice.len).collect();
        for (part, len) in lens.into_iter().enumerate() {
            let range = Range {
                request,
                part,
                part_samples: len,
                first: 0,
                len,
                arrived: now,
                order,
                segment: 0,
            };
            order += len as u64;
            self.scheduler.submit(now, range);
        }
    }

    fn forget_deadline(&mut self, entry: &RequestEntry<T>, request: RequestKey) {
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, request));
        }
    }

    /// When [`Core::tick`] is due.
    pub fn next_timer(&self) -> Option<Duration> {
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let segment = self.scheduler.next_timer();
        deadline.into_iter().chain(segment).min()
    }

    /// The policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.scheduler.policy()
    }

    /// Another policy from now on.
    pub fn set_policy(&mut self, now: Duration, policy: PolicyKind) {
        self.scheduler.set_policy(now, policy);
    }

    /// Samples in a segment at most, under `segment`.
    pub fn segment(&self) -> usize {
        self.scheduler.segment()
    }

    /// Segments of so many samples from now on. The pool's extents keep their size: a
    /// segment may span several, or less than one.
    pub fn set_segment(&mut self, size: usize) {
        self.scheduler.set_segment(size);
    }

    /// Closes the door for good.
    pub fn close(&mut self, reason: &str) {
        self.orphaned = false;
        self.door.set(DoorState::Closed(reason.to_owned()));
    }
}
