//! The state that a console draws.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::allocation::{Cell, Matrix};
use crate::ensemble::PolicyKind;
use crate::load::LoadPattern;
use crate::metrics::{Bucket, LatencySummary, SplitMeans};
use crate::search::Progress;

/// Everything but the spans, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time since the engine's start.
    pub now: Duration,
    pub ensemble: Arc<str>,
    /// Any member has made-up weights.
    pub synthetic: bool,
    /// Any device is simulated: answers mean nothing.
    pub simulated: bool,
    pub health: Health,
    /// The running matrix.
    pub matrix: Matrix,
    pub policy: PolicyKind,
    pub devices: Vec<DeviceView>,
    pub members: Vec<MemberView>,
    /// Row by row, one an entry of the matrix (empty entries are idle).
    pub entries: Vec<EntryView>,
    pub latency: LatencyView,
    /// Latencies under the matrix before the last reload.
    pub latency_before: Option<LatencySummary>,
    pub throughput: ThroughputView,
    /// Where the load generator knows labels and no weights are made up.
    pub accuracy: Option<Accuracy>,
    pub counters: Counters,
    pub load: LoadView,
    pub search: Option<SearchView>,
    pub reload: Option<ReloadView>,
    /// What to do about the worker that suffers most.
    pub proposal: Option<Proposal>,
    /// Newest last, bounded.
    pub log: Vec<LogEntry>,
    pub can_undo: bool,
    pub can_redo: bool,
}

/// How serving goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    Starting,
    Serving,
    /// Serving without devices that are gone; says which.
    Degraded(String),
    /// The door is closed; says why.
    Closed(String),
}

/// One device: a row of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceView {
    pub name: String,
    pub kind: &'static str,
    /// Share of the last second it computed, 0 to 1.
    pub busy: f64,
    /// Booked in its memory space.
    pub memory_booked: u64,
    pub memory_bytes: u64,
    /// Its lanes run side by side, and copies have engines of their own.
    pub side_by_side: bool,
    /// It disappeared.
    pub lost: bool,
    /// Its operations take so many times as long, by an operator's wish.
    pub slowdown: f64,
    /// Samples alive at most under `elastic`, where it was set for the device.
    pub max_inf: Option<NonZeroU32>,
    /// Samples in execution.
    pub alive: usize,
}

/// A worker that is slower than its profile says, and a matrix that would relieve it.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub cell: Cell,
    /// Time its batches take over what they take undisturbed.
    pub slowdown: f64,
    pub matrix: Matrix,
}

/// One member: a column of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberView {
    pub name: String,
    pub flops: u64,
    pub parameters: u64,
    pub synthetic: bool,
    /// Samples waiting in its queue.
    pub queued: usize,
    pub samples_per_s: f64,
}

/// One entry: a worker, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EntryView {
    /// Share of the last second its device spent on it, 0 to 1.
    pub load: f64,
    /// Mean share of its batch size that batches filled, 0 to 1.
    pub fill: f64,
    pub batches: u64,
    pub restarts: u32,
    /// Its network panicked so often that it is not started again; applying a matrix
    /// brings it back.
    pub retired: bool,
    /// Time its batches take over what they take undisturbed, where that is so much
    /// that it suffers from others or from its device.
    pub interfered: Option<f64>,
}

/// Latencies since the last reload or clearing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyView {
    pub summary: LatencySummary,
    /// Bars on a logarithmic axis.
    pub buckets: Vec<Bucket>,
    /// Where the mean latency went, in microseconds.
    pub split: SplitMeans,
}

/// Samples answered over time.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    pub right: u64,
    pub answered: u64,
}

/// What was answered, and what was not; a console shows those that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests.
    pub answered: u64,
    pub refused: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub worker_restarts: u64,
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadView {
    pub pattern: Option<LoadPattern>,
    /// It sends nothing while a search measures.
    pub resting: bool,
    pub sent: u64,
}

/// A search, running or finished.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchView {
    pub algorithm: &'static str,
    /// Where scores come from: `bench`, `model, then bench`, …
    pub evaluator: String,
    /// What is asked beside most throughput.
    pub goal: Option<String>,
    /// What the goal asks and the best found does not give.
    pub shortfall: Option<String>,
    pub state: SearchState,
    /// Iterations at most; 0 where steps are taken while they help.
    pub max_iter: usize,
    pub progress: Progress,
    pub elapsed: Duration,
    /// Time left, from the pace so far.
    pub left: Option<Duration>,
}

/// Where a search stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchState {
    Running,
    Paused,
    Finished,
    Cancelled,
    Failed(String),
}

/// A reload, running or the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct ReloadView {
    /// Steps done and under way, in words.
    pub steps: Vec<String>,
    pub state: ReloadState,
    pub elapsed: Duration,
}

/// Where a reload stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadState {
    Running,
    Done,
    /// Says why, and whether the old matrix serves.
    Failed(String),
}

/// One line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub at: Duration,
    pub level: LogLevel,
    pub text: String,
}

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Info,
    Warn,
    Error,
}
