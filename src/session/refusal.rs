//! The reasons why a session refuses a command.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use divisi_engine::load::{LoadError, MissingSamples};
use divisi_engine::search::MethodError;
use divisi_model::allocation::DoesNotFit;
use divisi_model::catalogue::MixError;
pub use divisi_model::codes::Refusal;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::CombinationError;
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// The reasons why a session refuses a command, except those of changes to the setup.
#[derive(Debug, Error)]
pub enum SessionRefusal {
    /// A model of the load has no samples to send.
    #[error(transparent)]
    NoSamples(MissingSamples),
    /// The traffic mix does not match the served models.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// The device number is out of range.
    #[error("expected a device from 0 to {last}, found {found}")]
    UnknownDevice {
        /// The requested device.
        found: DeviceIndex,
        /// The last number.
        last: DeviceIndex,
    },
    /// The member number is out of range.
    #[error("expected a member from 0 to {last}, found {found}")]
    UnknownMember {
        /// The requested member.
        found: MemberIndex,
        /// The last number.
        last: MemberIndex,
    },
    /// The vote cannot be changed, with the reason.
    #[error(transparent)]
    Vote(CombinationError),
    /// The service objective is out of range.
    #[error(transparent)]
    Target(FieldOutOfRange),
    /// The search method is invalid.
    #[error(transparent)]
    Search(MethodError),
    /// Models cannot be loaded or unloaded.
    #[error("the models are fixed at startup")]
    ModelsFixed,
    /// No tasks are served with a scaling policy.
    #[error("no scaling policy is running; start `divisi` with `--task` to serve tasks")]
    NoTasks,
    /// The policy is unknown.
    #[error("policy: expected one of {known}, found `{found}`")]
    PolicyUnknown {
        /// The requested name.
        found: String,
        /// The known policies.
        known: String,
    },
    /// There are no queries to compare policies with.
    #[error("no queries yet to compare policies with")]
    NothingAsked,
    /// A comparison of policies is running.
    #[error("policies are already being compared")]
    Comparing,
    /// The session has no network server.
    #[error("this session serves no clients; use `divisi serve` or `divisi`")]
    NoDoor,
    /// Connections are already accepted.
    #[error("already accepting connections")]
    DoorOpen,
    /// Connections are not accepted.
    #[error("not accepting connections")]
    DoorNotOpen,
    /// Listening on an address failed, with the reason.
    #[error("{0}")]
    NotListened(String),
    /// No model is served.
    #[error("no model is served; load one first")]
    NothingServed,
    /// A search is running.
    #[error("a search is running; cancel it first")]
    SearchRunning,
    /// No search is running.
    #[error("no search is running")]
    SearchNotRunning,
    /// The running matrix does not fit into memory.
    #[error(transparent)]
    DoesNotFit(DoesNotFit),
    /// A request of the load is larger than the pool.
    #[error("a request of {samples} samples exceeds the pool of {most} samples")]
    LoadTooLarge {
        /// The samples of the request.
        samples: usize,
        /// The samples that the pool holds.
        most: usize,
    },
    /// The load cannot be started.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A thread cannot be started.
    #[error(transparent)]
    Thread(io::Error),
    /// The session cannot be recorded.
    #[error("this session cannot be recorded")]
    NotRecordable,
    /// A recording is already in progress.
    #[error("already recording to {}", .0.display())]
    RecordingUnderWay(PathBuf),
    /// The recording cannot be started.
    #[error("cannot record to {}: {why}", .path.display())]
    RecordingFailed {
        /// The path of the recording.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No recording is in progress.
    #[error("nothing is being recorded")]
    RecordingNone,
    /// The session plays a recording.
    #[error("this is a recording; it cannot be changed")]
    IsRecording,
    /// The session does not play a recording.
    #[error("this is not a recording")]
    IsNoRecording,
    /// No other console is connected.
    #[error("no other console is connected")]
    NobodyElse,
    /// The session ends with its console.
    #[error("this session cannot run without its console")]
    NotLeftRunning,
}

impl Coded for SessionRefusal {
    fn code(&self) -> Code {
        match self {
            SessionRefusal::NoSamples(_) => Code::NoSamples,
            SessionRefusal::Mix(_) => Code::MixInvalid,
            SessionRefusal::UnknownDevice { .. } => Code::UnknownDevice,
            SessionRefusal::UnknownMember { .. } => Code::UnknownMember,
            SessionRefusal::Vote(_) => Code::SetupInvalid,
            SessionRefusal::Target(_) => Code::TargetInvalid,
            SessionRefusal::Search(error) => error.code(),
            SessionRefusal::ModelsFixed => Code::ModelsFixed,
            SessionRefusal::NoTasks => Code::NoTasks,
            SessionRefusal::PolicyUnknown { .. } => Code::PolicyUnknown,
            SessionRefusal::NothingAsked => Code::NothingAsked,
            SessionRefusal::Comparing => Code::ChangeUnderWay,
            SessionRefusal::NoDoor => Code::NoDoor,
            SessionRefusal::DoorOpen => Code::DoorOpen,
            SessionRefusal::DoorNotOpen => Code::DoorNotOpen,
            SessionRefusal::NotListened(_) => Code::AddressNotListened,
            SessionRefusal::NothingServed => Code::NoModels,
            SessionRefusal::SearchRunning => Code::SearchRunning,
            SessionRefusal::SearchNotRunning => Code::SearchNotRunning,
            SessionRefusal::DoesNotFit(_) => Code::DoesNotFit,
            SessionRefusal::LoadTooLarge { .. } => Code::LoadTooLarge,
            SessionRefusal::Load(LoadError::Thread(_)) | SessionRefusal::Thread(_) => {
                Code::ThreadNotStarted
            }
            SessionRefusal::Load(_) => Code::LoadFile,
            SessionRefusal::NotRecordable => Code::NotRecordable,
            SessionRefusal::RecordingUnderWay(_) => Code::RecordingUnderWay,
            SessionRefusal::RecordingFailed { .. } => Code::RecordingFailed,
            SessionRefusal::RecordingNone => Code::RecordingNone,
            SessionRefusal::IsRecording => Code::IsRecording,
            SessionRefusal::IsNoRecording => Code::IsNoRecording,
            SessionRefusal::NobodyElse => Code::NobodyElse,
            SessionRefusal::NotLeftRunning => Code::NotLeftRunning,
        }
    }
}
