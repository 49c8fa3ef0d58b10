//! Stable codes of all refusals and failures, for protocols and programs. Messages for people may
//! change; codes do not.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Something that has a stable code.
pub trait Coded {
    /// Returns its code.
    fn code(&self) -> Code;
}

/// The status of a code in HTTP and gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    Cancelled,
    Unimplemented,
    Internal,
    Unavailable,
}

impl Status {
    /// The statuses of HTTP and of gRPC.
    const fn numbers(self) -> (u16, u8) {
        match self {
            Status::Cancelled => (499, 1),
            Status::InvalidArgument => (400, 3),
            Status::DeadlineExceeded => (504, 4),
            Status::NotFound => (404, 5),
            Status::PermissionDenied => (403, 7),
            Status::ResourceExhausted => (503, 8),
            Status::FailedPrecondition => (409, 9),
            Status::Aborted => (409, 10),
            Status::Unimplemented => (501, 12),
            Status::Internal => (500, 13),
            Status::Unavailable => (503, 14),
        }
    }
}

/// Declares the codes: the meaning, name and status of each.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $status:ident;)*) => {
        /// The reason for a refusal or failure. Names are never changed and never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$code,)*];

            /// Returns its name in `snake_case`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Code::$code => $name,)*
                }
            }

            const fn status(self) -> Status {
                match self {
                    $(Code::$code => Status::$status,)*
                }
            }
        }
    };
}

codes! {
    /// A request has more samples than the pool holds.
    RequestTooLarge = "request_too_large", InvalidArgument;
    /// A request has no sample.
    RequestEmpty = "request_empty", InvalidArgument;
    /// A request's samples have another size than the ensemble's.
    RequestShape = "request_shape", InvalidArgument;
    /// A request names an output that does not exist.
    RequestOutput = "request_output", InvalidArgument;
    /// A request has a value that is not finite.
    RequestNotFinite = "request_not_finite", InvalidArgument;
    /// A request has an id outside a member's table.
    RequestNoRow = "request_no_row", InvalidArgument;
    /// A request has a sample whose mask is 0 everywhere.
    RequestMasked = "request_masked", InvalidArgument;
    /// The pool has no room for a request now.
    PoolFull = "pool_full", ResourceExhausted;
    /// The queue is full.
    QueueFull = "queue_full", Unavailable;
    /// A request waited longer for its first batch than allowed.
    QueueTimeout = "queue_timeout", Unavailable;
    /// Workers are not ready yet.
    DoorStarting = "door_starting", Unavailable;
    /// No requests are admitted, or not at the moment.
    DoorClosed = "door_closed", Unavailable;
    /// A request was not answered in time.
    Deadline = "deadline", DeadlineExceeded;
    /// The caller cancelled a request.
    Cancelled = "cancelled", Cancelled;
    /// A worker failed while it ran a request, or no worker was left.
    WorkerFailed = "worker_failed", Internal;
    /// The engine ended before a request was answered. Another engine may answer it.
    EngineStopped = "engine_stopped", Unavailable;
    /// The combination rule panicked.
    RulePanicked = "rule_panicked", Internal;
    /// A host step of a pipeline failed.
    StepFailed = "step_failed", Internal;
    /// A model returned integers that are too large to be exact.
    AnswerInexact = "answer_inexact", Unimplemented;
    /// The engine dropped a request because of an internal error.
    RequestDropped = "request_dropped", Internal;
    /// A member answered NaN or infinities.
    MemberNotFinite = "member_not_finite", Internal;
    /// A setup's policy, combination or segment size is invalid.
    SetupInvalid = "setup_invalid", InvalidArgument;
    /// A pipeline uses the model.
    ModelUsed = "model_used", FailedPrecondition;
    /// Models cannot be loaded or unloaded.
    ModelsFixed = "models_fixed", Unimplemented;
    /// Models are loaded and unloaded as their files come and go.
    ModelsPolled = "models_polled", Unavailable;
    /// The models cannot be read at the moment, for example because no file descriptors are left.
    ModelsUnreadable = "models_unreadable", Unavailable;
    /// No model would be served.
    NoModels = "no_models", FailedPrecondition;
    /// A matrix does not fit in memory.
    DoesNotFit = "does_not_fit", FailedPrecondition;
    /// A search has reserved the memory that a matrix needs.
    MemoryLent = "memory_lent", FailedPrecondition;
    /// The memory has another reservation.
    MemoryReserved = "memory_reserved", FailedPrecondition;
    /// A device is lost.
    DeviceLost = "device_lost", FailedPrecondition;
    /// A device is not lost.
    DeviceNotLost = "device_not_lost", FailedPrecondition;
    /// A matrix is for other devices or members.
    OtherFrame = "other_frame", FailedPrecondition;
    /// The running setup changed since a plan was made.
    PlanStale = "plan_stale", Aborted;
    /// Another change is under way.
    ChangeUnderWay = "change_under_way", Aborted;
    /// The setup runs already.
    ChangeNothing = "change_nothing", FailedPrecondition;
    /// A change was aborted because of an internal error of the engine.
    ChangePanicked = "change_panicked", Internal;
    /// Nothing is on probation.
    NoProbation = "no_probation", FailedPrecondition;
    /// There is no previous setup.
    NoUndo = "no_undo", FailedPrecondition;
    /// There is no change to redo.
    NoRedo = "no_redo", FailedPrecondition;
    /// The terms of a probation are invalid.
    TermsInvalid = "terms_invalid", InvalidArgument;
    /// A service objective is impossible.
    TargetInvalid = "target_invalid", InvalidArgument;
    /// A worker did not start.
    WorkerNotBuilt = "worker_not_built", Internal;
    /// There is no matrix for the devices that remain.
    NoFallback = "no_fallback", Internal;
    /// Only simulated devices can be lost or slowed on request.
    NotASimulatedDevice = "not_a_simulated_device", Unimplemented;
    /// A device could not be opened again.
    DeviceNotOpened = "device_not_opened", Unavailable;
    /// There is no device with this number.
    UnknownDevice = "unknown_device", NotFound;
    /// There is no member with this number.
    UnknownMember = "unknown_member", NotFound;
    /// No part of an arrangement was possible, for example because no device has room.
    NothingArranged = "nothing_arranged", FailedPrecondition;
    /// The ensemble has no calibration samples.
    NoSamples = "no_samples", FailedPrecondition;
    /// The shares are not a mix of the served models.
    MixInvalid = "mix_invalid", InvalidArgument;
    /// A load's requests are larger than the pool.
    LoadTooLarge = "load_too_large", InvalidArgument;
    /// A load's file of arrivals cannot be used.
    LoadFile = "load_file", InvalidArgument;
    /// A search exceeds a limit: iterations, restarts or finalists.
    SearchInvalid = "search_invalid", InvalidArgument;
    /// A number of a search's goal is out of range.
    SearchGoalInvalid = "search_goal_invalid", InvalidArgument;
    /// A search needs a feature that only the model evaluator has.
    SearchNeedsModel = "search_needs_model", InvalidArgument;
    /// A search is running already.
    SearchRunning = "search_running", FailedPrecondition;
    /// No search is running.
    SearchNotRunning = "search_not_running", FailedPrecondition;
    /// The system has no thread left.
    ThreadNotStarted = "thread_not_started", ResourceExhausted;
    /// A session cannot be recorded.
    NotRecordable = "not_recordable", Unimplemented;
    /// A recording is being made already.
    RecordingUnderWay = "recording_under_way", FailedPrecondition;
    /// A recording cannot be written to the requested file.
    RecordingFailed = "recording_failed", FailedPrecondition;
    /// Nothing is being recorded.
    RecordingNone = "recording_none", FailedPrecondition;
    /// The session is a replayed recording and cannot be changed.
    IsRecording = "is_recording", FailedPrecondition;
    /// The session is not a replayed recording.
    IsNoRecording = "is_no_recording", FailedPrecondition;
    /// The console is read-only.
    ReadOnly = "read_only", PermissionDenied;
    /// Another console is editing.
    AnotherEdits = "another_edits", PermissionDenied;
    /// No other console is connected.
    NobodyElse = "nobody_else", FailedPrecondition;
    /// A session cannot be left running.
    NotLeftRunning = "not_left_running", Unimplemented;
    /// A path must be absolute.
    PathRelative = "path_relative", InvalidArgument;
    /// The request was not understood.
    NotUnderstood = "not_understood", InvalidArgument;
    /// The server is gone or unreachable.
    ServerGone = "server_gone", Unavailable;
    /// The server does not answer.
    ServerSilent = "server_silent", DeadlineExceeded;
    /// A repository has no model of that name.
    ModelUnknown = "model_unknown", NotFound;
    /// A model's configuration or files are wrong.
    ModelInvalid = "model_invalid", InvalidArgument;
    /// A model needs an unsupported feature.
    ModelUnsupported = "model_unsupported", Unimplemented;
    /// No tasks with a loading policy are served.
    NoTasks = "no_tasks", Unimplemented;
    /// There is no policy with this name.
    PolicyUnknown = "policy_unknown", NotFound;
    /// No queries have arrived yet.
    NothingAsked = "nothing_asked", FailedPrecondition;
    /// A session has no door to the network.
    NoDoor = "no_door", Unimplemented;
    /// The door is already open.
    DoorOpen = "door_open", FailedPrecondition;
    /// The door is not open.
    DoorNotOpen = "door_not_open", FailedPrecondition;
    /// An address cannot be used for listening.
    AddressNotListened = "address_not_listened", FailedPrecondition;
}

impl Code {
    /// Returns the status of HTTP.
    pub const fn http(self) -> u16 {
        self.status().numbers().0
    }

    /// Returns the status of gRPC.
    pub const fn grpc(self) -> u8 {
        self.status().numbers().1
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.name()
    }
}

/// A name that is not a code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no code of this version")]
pub struct UnknownCode(pub String);

impl TryFrom<String> for Code {
    type Error = UnknownCode;

    fn try_from(name: String) -> Result<Self, UnknownCode> {
        let known = Code::ALL.iter().find(|code| code.name() == name);
        known.copied().ok_or(UnknownCode(name))
    }
}

/// A refused command: a code for programs and a text for people. It can be sent to other processes.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{text}")]
pub struct Refusal {
    code: Code,
    text: String,
}

impl Refusal {
    /// Creates a refusal from a code and a text.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        let text = text.into();
        Refusal { code, text }
    }

    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<E: Coded + ToString> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::new(error.code(), error.to_string())
    }
}
