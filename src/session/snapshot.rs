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
    /// The name of the ensemble.
    pub ensemble: Arc<str>,
    /// Any member has made-up weights.
    pub synthetic: bool,
    /// Any device is simulated: answers mean nothing.
    pub simulated: bool,
    /// In which numbers GPUs compute, where there are any.
    pub precision: Option<Precision>,
    /// Whether requests are served.
    pub health: Health,
    /// The running matrix.
    pub matrix: Matrix,
    /// The policy by which batches are formed.
    pub policy: PolicyKind,
    /// How members are combined.
    pub combination: Combination,
    /// Samples in a segment at most, under `segment`.
    pub segment_size: usize,
    /// The devices, in the order of the rows.
    pub devices: Vec<DeviceView>,
    /// The members, in the order of the columns.
    pub members: Vec<MemberView>,
    /// Row by row, one an entry of the matrix (empty entries are idle).
    pub entries: Vec<EntryView>,
    /// Latencies of requests.
    pub latency: LatencyView,
    /// Latencies under what ran before the last reload.
    pub latency_before: Option<Distribution>,
    /// How long the oldest request that is under way has waited for its answer. Latencies
    /// are of answers: where none come, this still grows.
    pub oldest_waiting: Option<Duration>,
    /// The service objective that latencies are judged by, if one is set.
    pub target: Option<Target>,
    /// Samples and requests answered a second.
    pub throughput: ThroughputView,
    /// Where the load generator knows labels and no weights are made up.
    pub accuracy: Option<Accuracy>,
    /// Requests counted by outcome, and restarts of workers.
    pub counters: Counters,
    /// Requests that were refused or failed lately.
    pub lately: LostRequests,
    /// The built-in load generator.
    pub load: LoadView,
    /// The last search, running or finished.
    pub search: Option<SearchView>,
    /// The last reload, running or finished.
    pub reload: Option<ReloadView>,
    /// A matrix that would relieve a worker that is slowed down, if one is found.
    pub proposal: Option<Proposal>,
    /// Newest last, bounded.
    pub log: Vec<LogEntry>,
    /// Whether there is a change to undo.
    pub can_undo: bool,
    /// Whether there is an undone change to redo.
    pub can_redo: bool,
    /// Reloads, policies, loads and other changes, with their times; oldest first, bounded.
    pub marks: Vec<Mark>,
    /// The setups that ran and how they did, oldest first, bounded. The last one is running.
    pub history: Vec<Ran>,
    /// The probation of the change that was applied last, running or over.
    pub probation: Option<Probation>,
    /// Who watches, and who may change things.
    pub audience: Audience,
    /// Where a recording that is played stands; none for an engine that runs.
    pub playback: Option<Playback>,
    /// The recording that is being made.
    pub recording: Option<RecordingView>,
}

impl Snapshot {
    /// Returns the running setup.
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
    /// Workers are being started; nothing is served yet.
    Starting,
    /// Requests are served.
    Serving,
    /// Serving without devices that are gone; says which.
    Degraded(String),
    /// The door is closed; says why.
    Closed(String),
}

/// One device: a row of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceView {
    /// The name of the device.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// Share of the last second it computed, 0 to 1.
    pub busy: f64,
    /// Share of the last second it copied, 0 to 1; where copies have engines of their
    /// own this may pass beside computing.
    pub copying: f64,
    /// Booked in its memory space, by all devices of the space together.
    pub memory_booked: u64,
    /// Bytes of the memory space.
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
    /// The GPU and its readings, where the device is a GPU of this machine.
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
    /// The device and the member of the worker.
    pub cell: Cell,
    /// Time its batches take over what they take undisturbed.
    pub slowdown: f64,
    /// The matrix that would relieve it.
    pub matrix: Matrix,
}

/// One member: a column of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberView {
    /// The name of the member.
    pub name: String,
    /// Floating-point operations of its network for one sample.
    pub flops: u64,
    /// Number of parameters of its network.
    pub parameters: u64,
    /// Whether its weights are made up.
    pub synthetic: bool,
    /// Samples waiting in its queue.
    pub queued: usize,
    /// Samples a second that the queue grew by over the last seconds; below zero it
    /// shrank.
    pub growth: f64,
    /// Samples answered a second, lately.
    pub samples_per_s: f64,
    /// Samples a second in each of the last moments ([`ThroughputView::moment`]).
    pub series: Vec<f32>,
    /// From arrival to this member's answer.
    pub latency: LatencyView,
    /// Its contribution to the ensemble; `None` while too few answers were weighed.
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
    /// Batches that it has run.
    pub batches: u64,
    /// Times that it was started again.
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
    /// Requests a second over the last second.
    pub requests_per_s: f64,
    /// Samples a second in each of the last moments, oldest first.
    pub series: Vec<f64>,
    /// Width of a moment.
    pub moment: Duration,
}

/// Of the answers whose label was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Samples whose answer was the label.
    pub right: u64,
    /// Samples answered.
    pub answered: u64,
}

/// Requests by outcome, and restarts; a console shows the numbers that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests answered.
    pub answered: u64,
    /// Requests that were not admitted.
    pub refused: u64,
    /// Requests that were admitted and failed.
    pub failed: u64,
    /// Requests that their callers gave up.
    pub cancelled: u64,
    /// Times that a worker was started again.
    pub worker_restarts: u64,
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadView {
    /// The pattern of the load, if there is one.
    pub pattern: Option<LoadPattern>,
    /// It sends nothing while a search measures.
    pub resting: bool,
    /// Requests sent.
    pub sent: u64,
    /// How much later than it was due the last request of an open pattern was sent.
    pub behind: Duration,
}

/// A search, running or finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchView {
    /// The name of the algorithm.
    pub algorithm: String,
    /// Where scores come from: `bench`, `model, then bench`, …
    pub evaluator: String,
    /// The goal, where it is more than the highest throughput.
    pub goal: Option<String>,
    /// The part of the goal that the best matrix found does not meet, if any.
    pub shortfall: Option<String>,
    /// Whether it runs, or how it ended.
    pub state: SearchState,
    /// Iterations at most; 0 where steps are taken while they help.
    pub max_iter: usize,
    /// The progress so far.
    pub progress: SearchProgress,
    /// Time that it has taken.
    pub elapsed: Duration,
    /// Time left, from the pace so far.
    pub left: Option<Duration>,
}

/// Where a search stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchState {
    /// It is under way.
    Running,
    /// It waits to be resumed.
    Paused,
    /// It ended by itself.
    Finished,
    /// It was cancelled.
    Cancelled,
    /// It failed; says why.
    Failed(String),
}

/// One line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Time since the engine's start.
    pub at: Duration,
    /// How serious it is.
    pub level: LogLevel,
    /// The text of the line.
    pub text: String,
}
