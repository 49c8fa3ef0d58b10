//! The state that a console draws.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::allocation::{Cell, Matrix};
use crate::changes::{Mark, Probation, Ran, ReloadView};
use crate::compute::gpu::Precision;
use crate::device::DeviceKind;
use crate::ensemble::{Combination, PolicyKind};
use crate::load::LoadPattern;
use crate::metrics::{Distribution, LatencyView};
use crate::search::SearchProgress;
use crate::serving::{Flaws, LogLevel, Setup};

use super::contribution::MemberContribution;
use super::gpu_view::GpuView;
use super::lost_requests::LostRequests;
use super::target::Target;
use super::watching::{Audience, Playback, RecordingView};

/// Everything but the spans, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time since the engine's start.
    pub now: Duration,
    pub ensemble: Arc<str>,
    /// Any member has made-up weights.
    pub synthetic: bool,
    /// Any device is simulated: answers mean nothing.
    pub simulated: bool,
    /// In which numbers GPUs compute, where there are any.
    pub precision: Option<Precision>,
    pub health: Health,
    /// The running matrix.
    pub matrix: Matrix,
    pub policy: PolicyKind,
    /// How members are combined.
    pub combination: Combination,
    /// Samples in a segment at most, under `segment`.
    pub segment_size: usize,
    pub devices: Vec<DeviceView>,
    pub members: Vec<MemberView>,
    /// Row by row, one an entry of the matrix (empty entries are idle).
    pub entries: Vec<EntryView>,
    pub latency: LatencyView,
    /// Latencies under what ran before the last reload.
    pub latency_before: Option<Distribution>,
    /// How long the oldest request that is under way has waited for its answer. Latencies
    /// are of answers: where none come, this still grows.
    pub oldest_waiting: Option<Duration>,
    /// What latencies are judged by, where one was set.
    pub target: Option<Target>,
    pub throughput: ThroughputView,
    /// Where the load generator knows labels and no weights are made up.
    pub accuracy: Option<Accuracy>,
    pub counters: Counters,
    /// What was refused or failed lately.
    pub lately: LostRequests,
    pub load: LoadView,
    pub search: Option<SearchView>,
    pub reload: Option<ReloadView>,
    /// What to do about the worker that suffers most.
    pub proposal: Option<Proposal>,
    /// Newest last, bounded.
    pub log: Vec<LogEntry>,
    pub can_undo: bool,
    pub can_redo: bool,
    /// What changed and when, oldest first, bounded: reloads, policies, loads.
    pub marks: Vec<Mark>,
    /// What ran when and how it did, oldest first, bounded; the last one is running.
    pub history: Vec<Ran>,
    /// What was applied last has to prove itself, or had to.
    pub probation: Option<Probation>,
    /// Who watches, and who may change things.
    pub audience: Audience,
    /// Where a recording that is played stands; none for an engine that runs.
    pub playback: Option<Playback>,
    /// The recording that is being made.
    pub recording: Option<RecordingView>,
}

impl Snapshot {
    /// What serves.
    pub fn setup(&self) -> Setup {
        Setup {
            matrix: self.matrix.clone(),
            policy: self.policy,
            combination: self.combination.clone(),
            segment_size: self.segment_size,
        }
    }
}

/// How serving goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    Starting,
    Serving,
    /// Serving without devices that are gone; says which.
    Degraded(String),
    /// The door is closed; says why.
    Closed(String),
}

/// One device: a row of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    pub name: String,
    pub kind: String,
    /// Share of the last second it computed, 0 to 1.
    pub busy: f64,
    /// Share of the last second it copied, 0 to 1; where copies have engines of their
    /// own this may pass beside computing.
    pub copying: f64,
    /// Booked in its memory space, by all devices of the space together.
    pub memory_booked: u64,
    /// What the memory space has.
    pub memory_bytes: u64,
    /// The first device of the same memory space, where that is another one: partitions of
    /// a processor share the host's memory.
    pub shares_memory_of: Option<usize>,
    /// Its lanes run side by side, and copies have engines of their own.
    pub side_by_side: bool,
    /// It disappeared.
    pub lost: bool,
    /// Why, where its driver said so.
    pub loss: Option<String>,
    /// What it is, where it is a GPU of this machine.
    pub gpu: Option<GpuView>,
    /// Its operations take so many times as long, by an operator's wish.
    pub slowdown: f64,
    /// Samples alive at most under `elastic`, where it was set for the device.
    pub max_inf: Option<NonZeroU32>,
    /// Samples in execution.
    pub alive: usize,
}

impl DeviceView {
    /// Whether it is simulated, so that an operator may let it disappear or grow slow.
    /// Snapshots carry the name of its kind alone.
    pub fn has_faults_on_demand(&self) -> bool {
        self.kind == DeviceKind::SIMULATED
    }
}

/// A worker that is slower than its profile says, and a matrix that would relieve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    pub cell: Cell,
    /// Time its batches take over what they take undisturbed.
    pub slowdown: f64,
    pub matrix: Matrix,
}

/// One member: a column of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    pub name: String,
    pub flops: u64,
    pub parameters: u64,
    pub synthetic: bool,
    /// Samples waiting in its queue.
    pub queued: usize,
    /// Samples a second that the queue grew by over the last seconds; below zero it
    /// shrank.
    pub growth: f64,
    pub samples_per_s: f64,
    /// Samples a second in each of the last moments ([`ThroughputView::moment`]).
    pub series: Vec<f32>,
    /// From arrival to this member's answer.
    pub latency: LatencyView,
    /// What it brings to the ensemble; none while too few answers were weighed.
    pub standing: Option<MemberContribution>,
    /// Its rows that were not what they should be.
    pub flaws: Flaws,
}

/// One entry: a worker, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntryView {
    /// Share of the last second its device spent on it, 0 to 1.
    pub load: f64,
    /// Mean share of their lanes that batches of the last second filled, 0 to 1; 0
    /// where there were none.
    pub fill: f64,
    /// Samples that it has taken and not started.
    pub waiting: usize,
    /// Seconds spent copying over seconds spent computing, lately.
    pub copying: f64,
    pub batches: u64,
    pub restarts: u32,
    /// Its network panicked so often that it is not started again; applying a matrix
    /// brings it back.
    pub retired: bool,
    /// Time its batches take over what they take undisturbed, where that is so much
    /// that it suffers from others or from its device.
    pub interfered: Option<f64>,
    /// From arrival to the end of this worker's batches.
    pub latency: LatencyView,
}

/// Samples answered over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThroughputView {
    /// Over the last second.
    pub samples_per_s: f64,
    pub requests_per_s: f64,
    /// Samples a second in each of the last moments, oldest first.
    pub series: Vec<f64>,
    /// Width of a moment.
    pub moment: Duration,
}

/// Of the answers whose label was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    pub right: u64,
    pub answered: u64,
}

/// What was answered, and what was not; a console shows those that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests.
    pub answered: u64,
    pub refused: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub worker_restarts: u64,
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadView {
    pub pattern: Option<LoadPattern>,
    /// It sends nothing while a search measures.
    pub resting: bool,
    pub sent: u64,
    /// How much later than it was due the last request of an open pattern was sent.
    pub behind: Duration,
}

/// A search, running or finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchView {
    pub algorithm: String,
    /// Where scores come from: `bench`, `model, then bench`, …
    pub evaluator: String,
    /// What is asked beside most throughput.
    pub goal: Option<String>,
    /// What the goal asks and the best found does not give.
    pub shortfall: Option<String>,
    pub state: SearchState,
    /// Iterations at most; 0 where steps are taken while they help.
    pub max_iter: usize,
    pub progress: SearchProgress,
    pub elapsed: Duration,
    /// Time left, from the pace so far.
    pub left: Option<Duration>,
}

/// Where a search stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchState {
    Running,
    Paused,
    Finished,
    Cancelled,
    Failed(String),
}

/// One line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub at: Duration,
    pub level: LogLevel,
    pub text: String,
}
