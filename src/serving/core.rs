//! The heart of serving as one state machine: door, pool, queues, workers, requests.
//!
//! Every method is an event with the time it happens at; what it returns is what
//! the driver has to do. There is no clock, lock or thread inside.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::ensemble::PolicyKind;
use crate::metrics::RateRing;

use super::batch::{Batch, Placed, Range, RequestKey, Slice, WorkerId};
use super::door::{Door, DoorState, Refused};
use super::pool::PoolIndex;
use super::scheduler::{Pick, Scheduler, WorkerSpec};
use super::supervision::{Verdict, Watch};

/// What a core is made for.
#[derive(Clone, Copy, Debug)]
pub struct CoreConfig {
    pub devices: usize,
    pub members: usize,
    /// Extents of the pool and slots of each (the segment size).
    pub extents: usize,
    pub segment: usize,
    pub policy: PolicyKind,
}

/// A request that was let in: where its samples go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub request: RequestKey,
    pub parts: Vec<Slice>,
}

/// What a free device does next.
#[derive(Clone, Debug)]
pub enum Next<T> {
    Run(Batch<T>),
    /// Sleep until this time (none: until woken).
    Sleep(Option<Duration>),
}

/// A request that is over: its payload, to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished<T> {
    pub payload: T,
    pub samples: usize,
    pub latency: Duration,
}

/// What one worker did so far.
#[derive(Clone, Debug)]
pub struct WorkerStats {
    pub spec: WorkerSpec,
    pub batches: u64,
    pub samples: u64,
    /// Seconds of its device a second, lately.
    pub load: f64,
}

/// What one device did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceStats {
    pub busy: f64,
}

/// What one member did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberStats {
    pub queued: usize,
    pub samples_per_s: f64,
}

struct Entry<T> {
    payload: T,
    parts: Vec<PartEntry>,
    samples: usize,
    /// Samples × members not yet folded or dropped.
    left: usize,
    submitted: Duration,
    deadline: Option<Duration>,
    failed: bool,
}

struct PartEntry {
    slice: Slice,
    left: usize,
}

struct Tally {
    batches: u64,
    samples: u64,
    busy: RateRing,
}

/// Rates are kept in buckets of this width, and shown over [`LATELY`].
const BUCKET: Duration = Duration::from_millis(200);
const BUCKETS: usize = 8;
const LATELY: Duration = Duration::from_secs(1);

/// See the module's text. `T` is what a driver keeps with each request.
pub struct Core<T> {
    members: usize,
    door: Door,
    pool: PoolIndex,
    scheduler: Scheduler,
    requests: HashMap<RequestKey, Entry<T>>,
    deadlines: BTreeSet<(Duration, RequestKey)>,
    running: HashMap<WorkerId, Vec<RequestKey>>,
    tallies: HashMap<WorkerId, Tally>,
    watches: HashMap<(usize, usize), Watch>,
    restarts: HashMap<(usize, usize), u32>,
    /// Devices asleep, and until when.
    asleep: Vec<Option<Option<Duration>>>,
    member_rates: Vec<RateRing>,
    next_request: u64,
    next_worker: u64,
    next_order: u64,
    live: usize,
    /// The door is closed because a member has no worker.
    orphaned: bool,
}

impl<T: Clone> Core<T> {
    /// Nobody works yet and the door is not open.
    pub fn new(config: CoreConfig) -> Self {
        Core {
            members: config.members,
            door: Door::default(),
            pool: PoolIndex::new(config.extents, config.segment),
            scheduler: Scheduler::new(config.members, config.policy, config.segment),
            requests: HashMap::new(),
            deadlines: BTreeSet::new(),
            running: HashMap::new(),
            tallies: HashMap::new(),
            watches: HashMap::new(),
            restarts: HashMap::new(),
            asleep: vec![None; config.devices],
            member_rates: vec![RateRing::new(BUCKET, BUCKETS); config.members],
            next_request: 0,
            next_worker: 0,
            next_order: 0,
            live: 0,
            orphaned: false,
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

    /// Samples that hold a slot of the pool.
    pub fn pooled(&self) -> usize {
        self.pool.live()
    }

    /// Requests admitted and not yet over.
    pub fn in_flight(&self) -> usize {
        self.live
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
        let entry = Entry {
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
        let Some(entry) = self.requests.get(&request) else {
            return;
        };
        if entry.failed {
            // Given up while its samples were being written: nobody will read them.
            return self.abandon(request);
        }
        let mut order = self.next_order;
        self.next_order += entry.samples as u64;
        let lens: Vec<usize> = entry.parts.iter().map(|p| p.slice.len).collect();
        for (part, len) in lens.into_iter().enumerate() {
            let range = Range {
                request,
                part,
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

    /// Devices asleep that have something to do now, or sooner than they know.
    /// The driver wakes them; they ask [`Core::next`].
    pub fn wake(&mut self, now: Duration) -> Vec<usize> {
        let mut woken = Vec::new();
        for device in 0..self.asleep.len() {
            let Some(until) = self.asleep[device] else {
                continue;
            };
            let sooner = match self.scheduler.peek(now, device) {
                None => true,
                Some(at) => at.is_some_and(|at| until.is_none_or(|u| at < u)),
            };
            if sooner {
                self.asleep[device] = None;
                woken.push(device);
            }
        }
        woken
    }

    /// A device is free.
    pub fn next(&mut self, now: Duration, device: usize) -> Next<T> {
        match self.scheduler.next(now, device) {
            Pick::Wait(until) => {
                self.asleep[device] = Some(until);
                Next::Sleep(until)
            }
            Pick::Run {
                worker,
                ranges,
                rows,
            } => {
                self.asleep[device] = None;
                Next::Run(self.place(worker, &ranges, rows))
            }
        }
    }

    fn place(&mut self, worker: WorkerSpec, ranges: &[Range], rows: usize) -> Batch<T> {
        let placed: Vec<Placed<T>> = ranges
            .iter()
            .filter_map(|&range| {
                let entry = self.requests.get(&range.request)?;
                let part = entry.parts[range.part].slice;
                Some(Placed {
                    range,
                    slice: Slice {
                        extent: part.extent,
                        slot: part.slot + range.first,
                        len: range.len,
                    },
                    payload: entry.payload.clone(),
                })
            })
            .collect();
        let mut requests: Vec<RequestKey> = placed.iter().map(|p| p.range.request).collect();
        requests.dedup();
        self.running.insert(worker.id, requests);
        Batch {
            worker: worker.id,
            device: worker.device,
            member: worker.member,
            size: worker.size,
            samples: placed.iter().map(|p| p.range.len).sum(),
            rows,
            oldest: placed.first().map_or(Duration::ZERO, |p| p.range.arrived),
            ranges: placed,
        }
    }

    /// A batch was run and folded; gives the requests that are complete.
    pub fn finish(&mut self, now: Duration, batch: &Batch<T>, busy: Duration) -> Vec<Finished<T>> {
        self.running.remove(&batch.worker);
        if let Some(tally) = self.tallies.get_mut(&batch.worker) {
            tally.batches += 1;
            tally.samples += batch.samples as u64;
            tally.busy.add(now, busy.as_secs_f64());
        }
        self.member_rates[batch.member].add(now, batch.samples as f64);
        let mut finished = Vec::new();
        for placed in &batch.ranges {
            finished.extend(self.settle(now, &placed.range));
        }
        finished
    }

    /// Counts a range as done for one member; the request, if that was its last.
    fn settle(&mut self, now: Duration, range: &Range) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&range.request)?;
        let part = &mut entry.parts[range.part];
        part.left -= range.len;
        if part.left == 0 {
            self.pool.release(part.slice.extent, part.slice.len);
        }
        entry.left -= range.len;
        if entry.left > 0 {
            return None;
        }
        let entry = self.requests.remove(&range.request)?;
        if entry.failed {
            return None;
        }
        self.live -= 1;
        self.forget_deadline(&entry, range.request);
        Some(Finished {
            payload: entry.payload,
            samples: entry.samples,
            latency: now.saturating_sub(entry.submitted),
        })
    }

    fn forget_deadline(&mut self, entry: &Entry<T>, request: RequestKey) {
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, request));
        }
    }

    /// Gives a request up: nothing of it is started any more. Its payload, to be
    /// answered with the reason; none where it is already over.
    pub fn fail(&mut self, now: Duration, request: RequestKey) -> Option<Finished<T>> {
        let entry = self.requests.get_mut(&request).filter(|e| !e.failed)?;
        entry.failed = true;
        self.live -= 1;
        let finished = Finished {
            payload: entry.payload.clone(),
            samples: entry.samples,
            latency: now.saturating_sub(entry.submitted),
        };
        if let Some(at) = entry.deadline {
            self.deadlines.remove(&(at, request));
        }
        for range in self.scheduler.remove_request(request) {
            self.settle(now, &range);
        }
        Some(finished)
    }

    /// Gives up a request whose samples were never written or queued.
    pub fn abandon(&mut self, request: RequestKey) {
        if let Some(entry) = self.requests.remove(&request) {
            self.live -= usize::from(!entry.failed);
            self.forget_deadline(&entry, request);
            for part in entry.parts {
                self.pool.release(part.slice.extent, part.slice.len);
            }
        }
    }

    /// Time passes: requests past their deadline, and whether anything else happened
    /// is for [`Core::wake`] to tell.
    pub fn tick(&mut self, now: Duration) -> Vec<Finished<T>> {
        self.scheduler.tick(now);
        let mut late = Vec::new();
        while let Some(&(at, request)) = self.deadlines.first() {
            if at > now {
                break;
            }
            self.deadlines.pop_first();
            late.extend(self.fail(now, request));
        }
        late
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
    pub fn set_policy(&mut self, policy: PolicyKind) {
        self.scheduler.set_policy(policy);
    }

    /// A number for a worker about to be built.
    pub fn new_worker(&mut self) -> WorkerId {
        self.next_worker += 1;
        WorkerId(self.next_worker)
    }

    /// A worker is ready.
    pub fn add_worker(&mut self, spec: WorkerSpec) {
        self.tallies.insert(
            spec.id,
            Tally {
                batches: 0,
                samples: 0,
                busy: RateRing::new(BUCKET, BUCKETS),
            },
        );
        self.scheduler.add(spec);
    }

    /// A worker starts nothing new.
    pub fn drain_worker(&mut self, id: WorkerId) {
        self.scheduler.drain(id);
    }

    /// Whether a draining worker runs nothing and has nothing left.
    pub fn is_drained(&self, id: WorkerId) -> bool {
        !self.running.contains_key(&id) && self.scheduler.is_drained(id)
    }

    /// A worker is gone. Requests in a batch it still runs fail: gives them.
    pub fn remove_worker(&mut self, now: Duration, id: WorkerId) -> Vec<Finished<T>> {
        let stuck = self.running.remove(&id).unwrap_or_default();
        self.scheduler.remove(id);
        self.tallies.remove(&id);
        stuck
            .into_iter()
            .filter_map(|request| self.fail(now, request))
            .collect()
    }

    /// A network panicked: its batch's requests fail; the worker is gone.
    pub fn panicked(&mut self, now: Duration, batch: &Batch<T>) -> (Verdict, Vec<Finished<T>>) {
        let failed = self.remove_worker(now, batch.worker);
        for placed in &batch.ranges {
            self.settle(now, &placed.range);
        }
        let place = (batch.device, batch.member);
        let verdict = self.watches.entry(place).or_default().panicked(now);
        if verdict == Verdict::Restart {
            *self.restarts.entry(place).or_default() += 1;
        }
        (verdict, failed)
    }

    /// A member without a worker, if there is one.
    pub fn orphan(&self) -> Option<usize> {
        (0..self.members).find(|&m| self.scheduler.active().all(|w| w.member != m))
    }

    /// Closes the door because a member has no worker left; what waits fails.
    pub fn close_orphaned(&mut self, now: Duration, reason: &str) -> Vec<Finished<T>> {
        self.orphaned = true;
        self.door.set(DoorState::Closed(reason.to_owned()));
        self.fail_all(now)
    }

    /// Opens a door that was closed for want of workers, once there are some.
    pub fn reopen_if_served(&mut self) {
        if self.orphaned && self.orphan().is_none() {
            self.orphaned = false;
            self.door.set(DoorState::Open);
        }
    }

    /// Every request that is not over fails: gives them.
    pub fn fail_all(&mut self, now: Duration) -> Vec<Finished<T>> {
        let mut keys: Vec<RequestKey> = self.requests.keys().copied().collect();
        keys.sort_unstable();
        keys.into_iter()
            .filter_map(|key| self.fail(now, key))
            .collect()
    }

    /// Closes the door for good.
    pub fn close(&mut self, reason: &str) {
        self.orphaned = false;
        self.door.set(DoorState::Closed(reason.to_owned()));
    }

    /// Workers with what they did; draining ones are left out.
    pub fn worker_stats(&mut self, now: Duration) -> Vec<WorkerStats> {
        let specs: Vec<WorkerSpec> = self.scheduler.active().collect();
        let stats = specs.into_iter().filter_map(|spec| {
            let tally = self.tallies.get_mut(&spec.id)?;
            Some(WorkerStats {
                spec,
                batches: tally.batches,
                samples: tally.samples,
                load: tally.busy.rate(now, LATELY),
            })
        });
        stats.collect()
    }

    /// How busy each device was lately.
    pub fn device_stats(&mut self, now: Duration) -> Vec<DeviceStats> {
        let mut devices = vec![DeviceStats::default(); self.asleep.len()];
        for stats in self.worker_stats(now) {
            devices[stats.spec.device].busy += stats.load;
        }
        devices
    }

    /// What each member did lately.
    pub fn member_stats(&mut self, now: Duration) -> Vec<MemberStats> {
        let queued: Vec<usize> = (0..self.members)
            .map(|m| self.scheduler.queued(m))
            .collect();
        let rates = self.member_rates.iter_mut();
        queued
            .into_iter()
            .zip(rates)
            .map(|(queued, rate)| MemberStats {
                queued,
                samples_per_s: rate.rate(now, LATELY),
            })
            .collect()
    }

    /// Restarts of the worker at a place.
    pub fn restarts(&self, device: usize, member: usize) -> u32 {
        self.restarts.get(&(device, member)).copied().unwrap_or(0)
    }
}
