//! The interface between a console and an engine.
//!
//! A console reads a [`Session`] and sends it [`Command`]s; it never uses the engine itself. A
//! [`LiveSession`] wraps an engine of this process, a [`RemoteSession`](remote::RemoteSession) an
//! engine of another process over a socket, and a [`ReplaySession`](replay::ReplaySession) plays a
//! recording. [`wire`] encodes the data they exchange, and [`record`] writes recordings.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod arrange;
mod client_door;
mod command;
mod door_view;
mod entries;
mod failure_watch;
mod figures;
mod host_view;
mod live;
mod model_view;
mod playback;
pub mod record;
mod refusal;
pub mod remote;
pub mod replay;
mod setup_file;
mod snapshot;
mod task_scaling;
mod wall_start;
mod what_if;
pub mod wire;

pub use arrange::{Arranged, Arrangement, arrange};
pub use client_door::ClientDoor;
pub use command::{Command, EditPreview, Prediction, Slowdown, Target};
pub use divisi_engine::changes::{
    Baseline, Check, HistoryEntry, Judge, JudgeVerdict, Limited, Mark, MarkKind, Measured,
    ModelChangeState, ModelChangeView, ModelsChanged, Probation, ProbationState, ReloadState,
    ReloadView, Terms,
};
pub use divisi_engine::load::LoadPattern;
pub use divisi_engine::search::{Algorithm as SearchKind, Method as SearchOrder};
pub use divisi_engine::serving::{LogLevel, SettingChange, Setup};
pub use divisi_model::error_kind::ErrorKind;
pub use divisi_model::metrics::{
    Distribution, ErrorCount, ErrorKey, ErrorOutcome, ErrorSubject, LastRun, LatencySplit,
    LatencyView, NamedVersion, RequestError, RequestRecord, RequestsView,
};
pub use door_view::{CallerFigures, CallerView, DoorAddress, DoorProtocol, DoorView, ModelCallers};
pub use entries::{DeviceView, EntryView, GpuView, MemberContribution, MemberView, Proposal};
pub use failure_watch::{FailureWatch, LogLine, Lost, LostRequests, Total};
pub use figures::{
    Figure, FigureCounters, FigureGauges, FigureHistory, FigureRecord, FigureRecorder, FigureSpread,
};
pub use host_view::{DisturbanceWatch, HostView};
pub use live::LiveSession;
pub use model_view::{
    CatalogueView, CountedAccuracy, GoalCounts, ModelFigures, ModelKind, RunningBatches,
    VariantView,
};
pub use playback::{Pace, Play, Playback};
pub use refusal::{Refusal, SessionRefusal};
pub use setup_file::{SetupFile, SetupFileError};
pub use snapshot::{
    AnswerQuality, Audience, Counters, ErrorsView, Health, LoadView, LogEntry, RecordingView,
    SearchState, SearchView, Snapshot, ThroughputView,
};
pub use task_scaling::{
    ConsideredView, CountedOutcome, GoalCount, GoalSecond, JobView, LoadedVariant,
    PolicyComparison, PolicyOutcome, ScalingChange, ScalingView, StreamView, TaskCostView,
    TaskScaling, TaskView, UnreachableView,
};
pub use what_if::{
    AccuracyOutlook, AssumedLoad, BusyShare, CostOutlook, DeviceForecast, Outlook, P99Outlook,
    RateFactor, WhatIf, WhatIfAnswer, WhatIfReply,
};

pub use wall_start::WallStart;

use std::time::Duration;

use divisi_model::trace::Span;

/// A source of the displayed state: a live engine, a recording or a connection.
pub trait Session: Send {
    /// Returns the current state without the spans.
    fn snapshot(&mut self) -> Snapshot;

    /// Returns the time since the engine's start, or the position in a recording.
    fn now(&mut self) -> Duration;

    /// Moves the spans since the last call to `into`, oldest first. Returns the number of spans
    /// lost since the start.
    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64;

    /// Returns the figures of the whole session until [`Session::now`].
    ///
    /// # Errors
    /// Returns the reason if the source does not answer.
    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        Ok(FigureHistory::default())
    }

    /// Requests a change. It happens in the background and shows in later snapshots.
    ///
    /// # Errors
    /// Returns the reason if the command is not possible now.
    fn command(&mut self, command: Command) -> Result<(), Refusal>;

    /// Returns the changes that applying `setup` would make: workers, memory, throughput.
    ///
    /// # Errors
    /// Returns the reason if the setup cannot be applied.
    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal>;

    /// Returns the predicted effects of a case, or that they are still being computed. Ask again
    /// until the answer has arrived.
    ///
    /// # Errors
    /// Returns the reason if the session cannot predict the case.
    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal>;
}
