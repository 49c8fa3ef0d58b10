//! The heart of serving as one state machine: door, pool, queues, workers, requests.
//!
//! Every method is an event with the time it happens at; what it returns is what
//! the driver has to do. There is no clock, lock or thread inside.

mod batches;
mod due;
mod entry;
mod expiring;
mod failing;
mod follow;
mod latencies;
mod orphans;
mod owed;
mod requests;
mod rest;
mod stats;
mod steps;
mod waiting;
mod workers;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::serving::batch::{BatchId, PipelineIndex, RequestKey, Slice, WorkerId};
use crate::serving::door::{Door, DoorState};
use crate::serving::keys::KeyMap;
use crate::serving::pool::PoolIndex;
use crate::serving::scheduler::{Discipline, Scheduler};
use divisi_model::dataflow::{Dataflow, StepReport};
use divisi_model::ensemble::{MemberPolicy, PolicyKind, Queueing};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

pub use batches::Next;
use batches::RunningBatch;
use due::{DueSamples, DueTurn};
use entry::RequestEntry;
pub use entry::{Admission, Arrival, HostWork};
pub use latencies::{Stamps, batch_spans, transfer_span};
pub use owed::{Finished, Owed};
use rest::DeviceRest;
use stats::{CopyEngine, Done, WorkerTally};
pub use stats::{DeviceStats, Latencies, MemberStats, WorkerStats};
pub(crate) use stats::{MOMENT, MOMENTS};
pub use steps::StepStats;
use steps::StepTally;
use waiting::EntryQueue;
pub use waiting::LevelStats;
pub use workers::{PanicWatch, Verdict};

/// The devices, members and pipelines that a core decides for.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// How each device runs batches.
    pub devices: Vec<Discipline>,
    /// How many members there are.
    pub members: usize,
    /// The pipelines over them.
    pub pipelines: Vec<PipelineConfig>,
    /// Samples in a segment at most, at first.
    pub segment: usize,
    /// The policy, at first.
    pub policy: PolicyKind,
    /// The members' own policies, in force beside that one; empty where none has its own.
    pub own_policies: Vec<Option<MemberPolicy>>,
}

/// A pipeline as a core serves it.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// Its steps.
    pub flow: Arc<Dataflow>,
    /// Extents of its pool.
    pub extents: usize,
    /// Slots of each extent.
    pub slots: usize,
    /// How its requests wait, if they do not just wait in the order of arrival.
    pub queueing: Option<Arc<Queueing>>,
}

impl CoreConfig {
    /// Creates the configuration of one ensemble; `planes` are the numbers of its members' inputs.
    pub fn ensemble(
        devices: Vec<Discipline>,
        planes: &[usize],
        extents: usize,
        segment: usize,
        policy: PolicyKind,
    ) -> Self {
        CoreConfig {
            devices,
            members: planes.len(),
            pipelines: vec![PipelineConfig {
                flow: Arc::new(Dataflow::ensemble(planes)),
                extents,
                slots: segment,
                queueing: None,
            }],
            segment,
            policy,
            own_policies: Vec::new(),
        }
    }
}

/// A pipeline with its pool.
struct ServedPipeline {
    flow: Arc<Dataflow>,
    pool: PoolIndex,
    /// Why it takes no requests, if it takes none: a member has no worker.
    closed: Option<String>,
    queue: Option<EntryQueue>,
    /// Requests of which no batch has begun.
    waiting: usize,
    due: DueSamples,
}

impl ServedPipeline {
    fn new(config: PipelineConfig) -> Self {
        ServedPipeline {
            flow: config.flow,
            pool: PoolIndex::new(config.extents, config.slots),
            closed: None,
            queue: config.queueing.map(EntryQueue::new),
            waiting: 0,
            due: DueSamples::default(),
        }
    }

    /// Returns the turn that a request would take.
    fn turn(&self, arrival: &Arrival) -> DueTurn {
        let queue = self.queue.as_ref();
        match arrival.due {
            _ if queue.is_some_and(|queue| !queue.goes_first(arrival.priority)) => DueTurn::Behind,
            Some(due) => DueTurn::Due(due),
            None => DueTurn::First,
        }
    }

    /// Returns the part of the pool that is held by samples which go before those of a request: all of it,
    /// where it is of a level that others go before.
    fn ahead(&self, turn: DueTurn) -> f64 {
        let before = self.due.before(turn);
        before.map_or(1.0, |before| before as f64 / self.pool.capacity() as f64)
    }

    /// Frees the slots of a part of a request.
    fn release(&mut self, turn: DueTurn, slice: Slice) {
        self.due.free(turn, slice.len);
        self.pool.release(slice.extent, slice.len);
    }
}

/// See the module's text. `T` is what a driver keeps with each request.
pub struct Core<T> {
    members: usize,
    door: Door,
    pipelines: Vec<ServedPipeline>,
    scheduler: Scheduler,
    requests: KeyMap<RequestKey, RequestEntry<T>>,
    deadlines: BTreeSet<(Duration, RequestKey)>,
    /// When requests do without steps that are late.
    patience: BTreeSet<(Duration, RequestKey)>,
    /// When requests have waited too long for their first batch.
    expiries: BTreeSet<(Duration, RequestKey)>,
    /// Any pipeline bounds how its requests wait.
    has_queues: bool,
    host_work: Vec<HostWork<T>>,
    /// Of each pipeline, its steps.
    steps: Vec<Vec<StepTally>>,
    /// Of the event that is looked at; it keeps its memory.
    report: StepReport,
    running: KeyMap<BatchId, RunningBatch>,
    tallies: KeyMap<WorkerId, WorkerTally>,
    watches: HashMap<(DeviceIndex, MemberIndex), PanicWatch>,
    restarts: HashMap<(DeviceIndex, MemberIndex), u32>,
    rest: Vec<DeviceRest>,
    /// A device sleeps because another is about to do what it could do too.
    held_back: bool,
    /// Steps were queued since that devices which sleep may have to run.
    followed: bool,
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
    /// Members without a worker whose pipelines are closed.
    orphans: BTreeSet<MemberIndex>,
    /// The door is closed because no pipeline is open.
    shut: bool,
    /// Members may be without a worker for a moment.
    reloading: bool,
}

impl<T: Clone> Core<T> {
    /// Nobody works yet and the door is not open.
    pub fn new(config: CoreConfig) -> Self {
        let pipelines = config.pipelines.iter();
        let steps = pipelines.map(|p| steps::tallies(p.flow.steps().len()));
        let steps = steps.collect();
        let has_queues = config.pipelines.iter().any(|p| p.queueing.is_some());
        Core {
            members: config.members,
            door: Door::default(),
            pipelines: config
                .pipelines
                .into_iter()
                .map(ServedPipeline::new)
                .collect(),
            scheduler: Scheduler::new(
                &config.devices,
                config.members,
                config.policy,
                config.segment,
            )
            .with_own(config.own_policies),
            requests: KeyMap::default(),
            deadlines: BTreeSet::new(),
            patience: BTreeSet::new(),
            expiries: BTreeSet::new(),
            has_queues,
            host_work: Vec::new(),
            steps,
            report: StepReport::default(),
            running: KeyMap::default(),
            tallies: KeyMap::default(),
            watches: HashMap::new(),
            restarts: HashMap::new(),
            rest: vec![DeviceRest::Awake; config.devices.len()],
            held_back: false,
            followed: false,
            dropped: Arc::default(),
            member_done: (0..config.members).map(|_| Done::new()).collect(),
            copies: config.devices.iter().map(|_| CopyEngine::new()).collect(),
            next_request: 0,
            oldest: 0,
            next_worker: 0,
            next_order: 0,
            live: 0,
            orphans: BTreeSet::new(),
            shut: false,
            reloading: false,
        }
    }

    /// The door, to open, close and ask.
    pub fn door(&mut self) -> &mut Door {
        &mut self.door
    }

    /// Slots of a pipeline's pool.
    pub fn capacity(&self, pipeline: PipelineIndex) -> usize {
        let served = self.pipelines.get(pipeline.0);
        served.map_or(0, |served| served.pool.capacity())
    }

    /// Slots of a pipeline's pool that a request could have now.
    pub fn free(&self, pipeline: PipelineIndex) -> usize {
        self.pipelines[pipeline.0].pool.available()
    }

    /// Samples that hold a slot of a pool.
    pub fn pooled(&self) -> usize {
        self.pipelines.iter().map(|p| p.pool.live()).sum()
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

    /// When [`Core::tick`], [`Core::expire`] or [`Core::lose_patience`] is due.
    pub fn next_timer(&self) -> Option<Duration> {
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let patience = self.patience.first().map(|(at, _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        let timers = [deadline, patience, expiry, self.scheduler.next_timer()];
        timers.into_iter().flatten().min()
    }

    /// The policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.scheduler.policy()
    }

    /// Whether some members have policies of their own beside it.
    pub fn has_own_policies(&self) -> bool {
        self.scheduler.has_own_policies()
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
        self.shut = false;
        self.door.set(DoorState::Closed(reason.to_owned()));
    }
}
