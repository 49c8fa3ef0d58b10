//! The core of serving as a state machine: door, pool, queues, workers, requests.
//!
//! Every method is an event with its time, and returns the actions for the driver. The core has no
//! clock, lock or thread.

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
pub use owed::{CompletingRun, Finished, Owed, RequestBatches};
use rest::DeviceRest;
use stats::{CopyEngine, Done, WorkerTally};
pub use stats::{DeviceStats, Latencies, MemberStats, WorkerStats};
pub(crate) use stats::{MOMENT, MOMENTS};
pub use steps::StepStats;
use steps::StepTally;
use waiting::EntryQueue;
pub use waiting::LevelStats;
pub use workers::{PanicWatch, Verdict};

/// The devices, members and pipelines of a core.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// The discipline of each device: how it runs batches.
    pub devices: Vec<Discipline>,
    /// The number of members.
    pub members: usize,
    /// The pipelines over them.
    pub pipelines: Vec<PipelineConfig>,
    /// The initial size of a segment, in samples.
    pub segment: usize,
    /// The initial policy.
    pub policy: PolicyKind,
    /// The members' own policies, in force in addition to the common one. Empty if no member has
    /// its own.
    pub own_policies: Vec<Option<MemberPolicy>>,
}

/// A pipeline in a core.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// The steps of the pipeline.
    pub flow: Arc<Dataflow>,
    /// The number of extents of its pool.
    pub extents: usize,
    /// The number of slots of each extent.
    pub slots: usize,
    /// The queueing of its requests, or `None` for the order of arrival.
    pub queueing: Option<Arc<Queueing>>,
}

impl CoreConfig {
    /// Creates the configuration of one ensemble. `planes` are the numbers of its members' inputs.
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
    /// The reason why the pipeline takes no requests, a member without a worker, or `None` if it is
    /// open.
    closed: Option<String>,
    queue: Option<EntryQueue>,
    /// The number of requests without a begun batch.
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

    /// Returns the turn that a request would get.
    fn turn(&self, arrival: &Arrival) -> DueTurn {
        let queue = self.queue.as_ref();
        match arrival.due {
            _ if queue.is_some_and(|queue| !queue.goes_first(arrival.priority)) => DueTurn::Behind,
            Some(due) => DueTurn::Due(due),
            None => DueTurn::First,
        }
    }

    /// Returns the share of the pool held by samples that go before a request. Returns 1 if other
    /// levels go before its level.
    fn ahead(&self, turn: DueTurn) -> f64 {
        let before = self.due.samples_before(turn);
        before.map_or(1.0, |before| before as f64 / self.pool.capacity() as f64)
    }

    /// Frees the slots of a part of a request.
    fn release(&mut self, turn: DueTurn, slice: Slice) {
        self.due.free(turn, slice.len);
        self.pool.release(slice.extent, slice.len);
    }
}

/// The state of serving. `T` is the driver's data for each request.
pub struct Core<T> {
    members: usize,
    door: Door,
    pipelines: Vec<ServedPipeline>,
    scheduler: Scheduler,
    requests: KeyMap<RequestKey, RequestEntry<T>>,
    deadlines: BTreeSet<(Duration, RequestKey)>,
    /// The times at which requests stop waiting for late steps.
    patience: BTreeSet<(Duration, RequestKey)>,
    /// The times at which the wait for the first batch expires.
    expiries: BTreeSet<(Duration, RequestKey)>,
    /// Whether any pipeline configures queueing.
    has_queues: bool,
    host_work: Vec<HostWork<T>>,
    /// The tallies of each pipeline's steps.
    steps: Vec<Vec<StepTally>>,
    /// The report of the current event, whose buffers are reused.
    report: StepReport,
    running: KeyMap<BatchId, RunningBatch>,
    tallies: KeyMap<WorkerId, WorkerTally>,
    watches: HashMap<(DeviceIndex, MemberIndex), PanicWatch>,
    restarts: HashMap<(DeviceIndex, MemberIndex), u32>,
    rest: Vec<DeviceRest>,
    /// Whether a device sleeps because another one is about to do the work that it could do too.
    held_back: bool,
    /// Whether steps were queued that sleeping devices may have to run.
    followed: bool,
    /// The number of finished requests that were dropped instead of answered.
    dropped: Arc<AtomicU64>,
    member_done: Vec<Done>,
    copies: Vec<CopyEngine>,
    next_request: u64,
    /// No earlier request is under way.
    oldest: u64,
    next_worker: u64,
    next_order: u64,
    live: usize,
    /// Members without a worker whose pipelines are closed.
    orphans: BTreeSet<MemberIndex>,
    /// Whether the door is closed because no pipeline is open.
    shut: bool,
    /// Whether members may briefly be without a worker.
    reloading: bool,
}

impl<T: Clone> Core<T> {
    /// Creates a core without workers and with a closed door.
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

    /// Returns the door.
    pub fn door(&mut self) -> &mut Door {
        &mut self.door
    }

    /// Returns the number of slots of a pipeline's pool.
    pub fn capacity(&self, pipeline: PipelineIndex) -> usize {
        let served = self.pipelines.get(pipeline.0);
        served.map_or(0, |served| served.pool.capacity())
    }

    /// Returns the number of slots of a pipeline's pool that a request could get now.
    pub fn free(&self, pipeline: PipelineIndex) -> usize {
        self.pipelines[pipeline.0].pool.available()
    }

    /// Returns the number of samples that hold a slot of a pool.
    pub fn pooled(&self) -> usize {
        self.pipelines.iter().map(|p| p.pool.live()).sum()
    }

    /// Returns the number of admitted requests that are not over.
    pub fn in_flight(&self) -> usize {
        self.live
    }

    /// Returns the number of finished requests that a driver dropped instead of answering. Any such
    /// request is a bug.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of queue places examined for samples of failed requests.
    pub fn looked_at(&self) -> u64 {
        self.scheduler.looked_at()
    }

    /// Returns the number of samples in a device's memory that were copied ahead, or are being
    /// copied.
    pub fn copied_ahead(&self, device: DeviceIndex) -> usize {
        self.scheduler.copied_ahead(device)
    }

    /// Returns the time at which [`Core::tick`], [`Core::expire`] or [`Core::lose_patience`] is
    /// due.
    pub fn next_timer(&self) -> Option<Duration> {
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let patience = self.patience.first().map(|(at, _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        let timers = [deadline, patience, expiry, self.scheduler.next_timer()];
        timers.into_iter().flatten().min()
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> PolicyKind {
        self.scheduler.policy()
    }

    /// Returns whether some members have their own policies.
    pub fn has_own_policies(&self) -> bool {
        self.scheduler.has_own_policies()
    }

    /// Changes the policy.
    pub fn set_policy(&mut self, now: Duration, policy: PolicyKind) {
        self.scheduler.set_policy(now, policy);
    }

    /// Returns the most samples of a segment under the `segment` policy.
    pub fn segment(&self) -> usize {
        self.scheduler.segment()
    }

    /// Changes the segment size. The extents of the pool keep their size, so a segment may cover
    /// several extents or less than one.
    pub fn set_segment(&mut self, size: usize) {
        self.scheduler.set_segment(size);
    }

    /// Closes the door permanently.
    pub fn close(&mut self, reason: &str) {
        self.shut = false;
        self.door.set(DoorState::Closed(reason.to_owned()));
    }
}
