//! The state that a console draws.

use std::ops::Add;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_engine::changes::{HistoryEntry, Mark, ModelChangeView, Probation, ReloadView};
use divisi_engine::load::LoadPattern;
use divisi_engine::search::{EvaluatorKind, SearchProgress};
use divisi_engine::serving::{LogLevel, Setup, StepGraph};
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::catalogue::{NamedMix, ServedCopies};
use divisi_model::ensemble::{AnswerKind, Combination, PolicyKind, Quality};
use divisi_model::metrics::{Distribution, ErrorCount, LatencyView, RequestError, RequestsView};
use divisi_model::trace::Span;
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::command::Target;
use super::door_view::DoorView;
use super::entries::{DeviceView, EntryView, MemberView, Proposal};
use super::failure_watch::LostRequests;
use super::figures::FigureRecord;
use super::host_view::HostView;
use super::model_view::CatalogueView;
use super::playback::Playback;
use super::task_scaling::ScalingView;

/// The state at one moment, without the spans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time since the engine's start.
    pub now: Duration,
    /// The time of day of the engine's start, in milliseconds of Unix time, or `None` if unknown.
    pub started: Option<u64>,
    /// The figures of the last whole second, or `None` before its end.
    pub second: Option<FigureRecord>,
    /// The number of the engine among the successive engines of this session. Devices, members and
    /// figures are those of this engine.
    pub generation: u64,
    /// The name of the ensemble.
    pub ensemble: Arc<str>,
    /// The kind of its answers.
    pub answers: AnswerKind,
    /// Whether it is a pipeline: steps combine its members' answers instead of a rule.
    pub pipeline: bool,
    /// Whether any member has synthetic weights.
    pub synthetic: bool,
    /// Whether any device is simulated; answers are then meaningless.
    pub simulated: bool,
    /// The precision of the GPUs, or `None` without GPUs.
    pub precision: Option<Precision>,
    /// Whether requests are served.
    pub health: Health,
    /// The running matrix.
    pub matrix: Matrix,
    /// The batching policy.
    pub policy: PolicyKind,
    /// Whether some models have shorter delays of their own.
    pub own_policies: bool,
    /// The combination of members.
    pub combination: Combination,
    /// The maximum number of samples in a segment, under `segment`.
    pub segment_size: usize,
    /// The devices, in the order of the rows.
    pub devices: Vec<DeviceView>,
    /// The members, in the order of the columns.
    pub members: Vec<MemberView>,
    /// The served models and those that could be loaded.
    pub models: Vec<CatalogueView>,
    /// The served copies of models, as a setup names them.
    pub copies: ServedCopies,
    /// Whether models can be loaded and unloaded.
    pub can_load: bool,
    /// The last requested change of the models.
    pub model_change: Option<ModelChangeView>,
    /// The network server, if the session has one.
    pub door: Option<DoorView>,
    /// The scaling policy that loads variants of tasks, if there is one.
    pub scaling: Option<ScalingView>,
    /// The entries of the matrix, row by row (empty entries are idle).
    pub entries: Vec<EntryView>,
    /// The steps of each served model, with their figures.
    pub graphs: Vec<StepGraph>,
    /// Latencies of requests.
    pub latency: LatencyView,
    /// Latencies before the last reload.
    pub latency_before: Option<Distribution>,
    /// The waiting time of the oldest request in progress. Unlike latencies, which need answers, it
    /// also grows if there are no answers.
    pub oldest_waiting: Option<Duration>,
    /// The load of the host, or `None` before the first second and if the system does not count it.
    pub host: Option<HostView>,
    /// The batches in execution, each as a span from its start to [`Snapshot::now`].
    pub under_way: Vec<Span>,
    /// The service objective for latencies, if one is set.
    pub target: Option<Target>,
    /// The throughput in samples and requests per second.
    pub throughput: ThroughputView,
    /// The quality of the built-in load's answers, if targets are known and no weights are
    /// synthetic.
    pub quality: Option<AnswerQuality>,
    /// Requests counted by outcome, and restarts of workers.
    pub counters: Counters,
    /// Requests that were refused or failed lately.
    pub lately: LostRequests,
    /// The errors that clients saw.
    pub errors: ErrorsView,
    /// The slowest requests of the last minute and the last failed ones.
    pub requests: RequestsView,
    /// The built-in load generator.
    pub load: LoadView,
    /// The last search, running or finished.
    pub search: Option<SearchView>,
    /// The last reload, running or finished.
    pub reload: Option<ReloadView>,
    /// A matrix that would relieve a worker that is slowed down, if one is found.
    pub proposal: Option<Proposal>,
    /// The log, newest line last, bounded.
    pub log: Vec<LogEntry>,
    /// Whether there is a change to undo.
    pub can_undo: bool,
    /// Whether there is an undone change to redo.
    pub can_redo: bool,
    /// Reloads, policies, loads and other changes, with their times; oldest first, bounded.
    pub marks: Vec<Mark>,
    /// The setups that ran and their results, oldest first, bounded. The last one is running.
    pub history: Vec<HistoryEntry>,
    /// The probation of the last applied change, running or over.
    pub probation: Option<Probation>,
    /// The connected consoles and the right to make changes.
    pub audience: Audience,
    /// The state of a playback; `None` for a running engine.
    pub playback: Option<Playback>,
    /// The recording in progress.
    pub recording: Option<RecordingView>,
}

impl Snapshot {
    /// Returns the running setup.
    pub fn setup(&self) -> Setup {
        Setup {
            models: Arc::clone(&self.copies),
            matrix: self.matrix.clone(),
            policy: self.policy,
            combination: self.combination.clone(),
            segment_size: self.segment_size,
            precisions: self.members.iter().map(|m| m.precision).collect(),
        }
    }

    /// Returns the time of day of a time since the engine's start, in milliseconds of Unix time, or
    /// `None` if it is unknown.
    pub fn unix_ms(&self, at: Duration) -> Option<u64> {
        let since = u64::try_from(at.as_millis()).ok()?;
        self.started?.checked_add(since)
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
        self.entries.get(cell.index_in(self.members.len()))
    }
}

/// The state of serving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    /// Workers are starting; requests are not served yet.
    Starting,
    /// Requests are served.
    Serving,
    /// Requests are served, but some devices failed.
    Degraded(String),
    /// Requests are refused, with the reason.
    Closed(String),
}

/// The throughput over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThroughputView {
    /// Samples per second over the last second.
    pub samples_per_s: f64,
    /// Requests per second over the last second.
    pub requests_per_s: f64,
    /// Samples per second in each of the last intervals, oldest first.
    pub series: Vec<f64>,
    /// The length of an interval.
    pub moment: Duration,
}

/// The quality of the answers with known targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerQuality {
    /// Each figure with its measure, the main one first.
    pub figures: Vec<Quality>,
    /// Samples answered.
    pub answered: u64,
}

/// The errors that clients saw since the server was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorsView {
    /// The errors by kind, the most frequent within the last minute first.
    pub counts: Vec<ErrorCount>,
    /// The last errors, the newest first, bounded.
    pub last: Vec<RequestError>,
}

/// Requests by outcome, and worker restarts, since the server was started. A console shows the
/// numbers that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests answered.
    pub answered: u64,
    /// Requests refused.
    pub refused: u64,
    /// Requests accepted and failed.
    pub failed: u64,
    /// Requests cancelled by their clients.
    pub cancelled: u64,
    /// Worker restarts.
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
    /// The pattern of the load, or `None` if it is stopped.
    pub pattern: Option<LoadPattern>,
    /// The traffic mix, if one is set; otherwise all requests go to the first model.
    pub mix: Option<NamedMix>,
    /// Whether it is paused while a search measures.
    pub resting: bool,
    /// Requests sent.
    pub sent: u64,
    /// The delay of the last request of an open pattern after its scheduled time.
    pub behind: Duration,
}

/// A search, running or finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchView {
    /// The name of the algorithm.
    pub algorithm: String,
    /// The evaluator in words: `bench`, `model, then bench`, …
    pub evaluator: String,
    /// The kind of evaluator that scores matrices.
    pub scored_by: EvaluatorKind,
    /// Whether the result was kept from an earlier search.
    pub cached: bool,
    /// The age of a kept result, or the load of the host during a disturbed search, in words.
    pub occasion: Option<String>,
    /// The goal, if it is more than the highest throughput.
    pub goal: Option<String>,
    /// The unmet part of the goal, if any.
    pub shortfall: Option<String>,
    /// Whether the search is running, or how it ended.
    pub state: SearchState,
    /// The maximum number of iterations; 0 if the search continues while it improves.
    pub max_iter: usize,
    /// The progress so far.
    pub progress: SearchProgress,
    /// The elapsed time.
    pub elapsed: Duration,
    /// The estimated remaining time.
    pub left: Option<Duration>,
}

/// The state of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchState {
    /// The search is running.
    Running,
    /// The search is paused.
    Paused,
    /// The search finished.
    Finished,
    /// The search was cancelled.
    Cancelled,
    /// The search failed, with the reason.
    Failed(String),
}

/// One line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Time since the engine's start.
    pub at: Duration,
    /// The level of the line.
    pub level: LogLevel,
    /// The text of the line.
    pub text: String,
}

/// The connected consoles. A session in its own process has one console, which edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audience {
    /// The number of connected consoles, this one included.
    pub viewers: usize,
    /// The editing console, if there is one: `user@terminal`.
    pub editor: Option<String>,
    /// Whether this console edits. A console with its own engine always does.
    pub you_edit: bool,
    /// Whether the engine runs in another process; exiting does not stop it.
    pub attached: bool,
    /// Whether the engine can continue serving in the background after this console exits
    /// ([`Command::KeepServing`](super::Command::KeepServing)).
    pub may_stay: bool,
    /// Whether the connection to the server is lost. The other figures are then those of no server.
    pub lost: bool,
    /// The number of times that this console attached again, to a new server of the same name.
    pub connection: u32,
}

impl Default for Audience {
    fn default() -> Self {
        Audience {
            viewers: 1,
            editor: None,
            you_edit: true,
            attached: false,
            may_stay: false,
            lost: false,
            connection: 0,
        }
    }
}

/// A recording in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingView {
    /// The path of the file.
    pub path: PathBuf,
    /// Time since the engine's start.
    pub since: Duration,
    /// Bytes written.
    pub bytes: u64,
    /// Spans and states left out because the disk was too slow.
    pub dropped: u64,
    /// The reason why it ended early, such as a full disk.
    pub failed: Option<String>,
}
