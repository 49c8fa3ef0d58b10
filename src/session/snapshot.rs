//! The state that a console draws.

use std::ops::Add;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::changes::{HistoryEntry, Mark, Probation, ReloadView};
use divisi_engine::load::LoadPattern;
use divisi_engine::search::{EvaluatorKind, SearchProgress};
use divisi_engine::serving::{LogLevel, Setup, StepGraph};
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{AnswerKind, Combination, PolicyKind, Quality};
use divisi_model::metrics::{Distribution, LatencyView};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::command::Target;
use super::door_view::DoorView;
use super::entries::{DeviceView, EntryView, MemberView, Proposal};
use super::failure_watch::LostRequests;
use super::model_change::ModelChangeView;
use super::model_view::CatalogueView;
use super::playback::Playback;
use super::task_scaling::ScalingView;

/// Everything but the spans, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time since the engine's start.
    pub now: Duration,
    /// The number of the engine among those that follow each other as models are loaded and unloaded:
    /// devices, members and figures are those of this one.
    pub generation: u64,
    /// The name of the ensemble.
    pub ensemble: Arc<str>,
    /// The kind of its answers.
    pub answers: AnswerKind,
    /// It is a pipeline: steps say how its members' answers are combined, and no rule.
    pub pipeline: bool,
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
    /// Whether some models wait by delays of their own, which are shorter.
    pub own_policies: bool,
    /// How members are combined.
    pub combination: Combination,
    /// Samples in a segment at most, under `segment`.
    pub segment_size: usize,
    /// The devices, in the order of the rows.
    pub devices: Vec<DeviceView>,
    /// The members, in the order of the columns.
    pub members: Vec<MemberView>,
    /// The models that can be asked, and those that could be loaded.
    pub models: Vec<CatalogueView>,
    /// Models can be loaded and unloaded.
    pub can_load: bool,
    /// The last change of the models that somebody asked for.
    pub model_change: Option<ModelChangeView>,
    /// The door to the network, where there is one to open.
    pub door: Option<DoorView>,
    /// The policy by which variants of tasks are loaded, where one does that.
    pub scaling: Option<ScalingView>,
    /// Row by row, one an entry of the matrix (empty entries are idle).
    pub entries: Vec<EntryView>,
    /// The steps of each model that can be asked, with how they do.
    pub graphs: Vec<StepGraph>,
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
    /// The figures of the generated load's answers, where targets are known and no weights
    /// are made up.
    pub quality: Option<AnswerQuality>,
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
    pub history: Vec<HistoryEntry>,
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
            precisions: self.members.iter().map(|m| m.precision).collect(),
        }
    }

    /// Returns a device, or `None` if there is no such row.
    pub fn device(&self, device: DeviceIndex) -> Option<&DeviceView> {
        self.devices.get(device.get())
    }

    /// Returns a member, or `None` if there is no such column.
    pub fn member(&self, member: MemberIndex) -> Option<&MemberView> {
        self.members.get(member.get())
    }

    /// Returns an entry of the matrix, or `None` if there is no such place.
    pub fn entry(&self, cell: Cell) -> Option<&EntryView> {
        self.entries.get(cell.place(self.members.len()))
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

/// The figures of the answers whose targets were known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerQuality {
    /// Each figure with its measure, the main one first.
    pub figures: Vec<Quality>,
    /// Samples answered.
    pub answered: u64,
}

/// Requests by outcome, and restarts, since the server was started; a console shows the numbers that are
/// not zero.
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

impl Add for Counters {
    type Output = Counters;

    fn add(self, other: Counters) -> Counters {
        Counters {
            answered: self.answered + other.answered,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
            cancelled: self.cancelled + other.cancelled,
            worker_restarts: self.worker_restarts + other.worker_restarts,
        }
    }
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadView {
    /// The pattern of the load, if there is one.
    pub pattern: Option<LoadPattern>,
    /// The shares in which models are asked, where they were set; else the first alone is.
    pub mix: Option<NamedMix>,
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
    /// Where scores come from, in words: `bench`, `model, then bench`, …
    pub evaluator: String,
    /// The kind of evaluator that scores the matrices it looks at.
    pub scored_by: EvaluatorKind,
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

/// Who watches a session. The one that a session of its own has is alone and edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audience {
    /// Consoles that watch, this one among them.
    pub viewers: usize,
    /// Who may change things, where somebody has taken that on: `user@terminal`.
    pub editor: Option<String>,
    /// It is this console. One whose engine is its own always edits.
    pub you_edit: bool,
    /// The engine is another process's: leaving stops nothing.
    pub attached: bool,
    /// The engine can go on serving in the background once this console leaves
    /// ([`Command::KeepServing`](super::Command::KeepServing)).
    pub may_stay: bool,
}

impl Default for Audience {
    fn default() -> Self {
        Audience {
            viewers: 1,
            editor: None,
            you_edit: true,
            attached: false,
            may_stay: false,
        }
    }
}

/// A recording that is being made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingView {
    /// The file that is written.
    pub path: PathBuf,
    /// Time since the engine's start.
    pub since: Duration,
    /// Bytes written.
    pub bytes: u64,
    /// Spans and states that were left out, since the disk was slower than they came.
    pub dropped: u64,
    /// Why it ended early: the disk is full, say.
    pub failed: Option<String>,
}
