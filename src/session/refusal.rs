//! Why a session does not do what it is asked for.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use divisi_engine::load::{LoadError, MissingSamples};
use divisi_engine::search::MethodError;
use divisi_model::allocation::DoesNotFit;
use divisi_model::catalogue::MixError;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::CombinationError;
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// A command was not taken, as whoever asked is told: by a code for programs, in words for
/// people. It goes from process to process.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{text}")]
pub struct Refusal {
    code: Code,
    text: String,
}

impl Refusal {
    /// A refusal by `code`, in words.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        let text = text.into();
        Refusal { code, text }
    }

    /// Returns what programs know it by.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns it in words.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<E: Coded + ToString> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::new(error.code(), error.to_string())
    }
}

/// The reasons why a session refuses a request, except those of changes to the setup.
#[derive(Debug, Error)]
pub enum SessionRefusal {
    /// A model that is asked has no samples to send.
    #[error(transparent)]
    NoSamples(MissingSamples),
    /// Shares are no mix of what is served.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// There is no device of that number.
    #[error("expected a device from 0 to {last}, found {found}")]
    UnknownDevice {
        /// The device that was asked for.
        found: DeviceIndex,
        /// The last one there is.
        last: DeviceIndex,
    },
    /// There is no member of that number.
    #[error("expected a member from 0 to {last}, found {found}")]
    UnknownMember {
        /// The member that was asked for.
        found: MemberIndex,
        /// The last one there is.
        last: MemberIndex,
    },
    /// Votes cannot be set so; says why.
    #[error(transparent)]
    Vote(CombinationError),
    /// A service objective cannot be met at all; says why.
    #[error(transparent)]
    Target(FieldOutOfRange),
    /// A search cannot be asked for so; says why.
    #[error(transparent)]
    Search(MethodError),
    /// Models can neither be loaded nor unloaded.
    #[error("the models are those that the server was started with")]
    ModelsFixed,
    /// No tasks are served whose variants a policy loads.
    #[error("no policy loads models here: `divisi --task` serves tasks by one")]
    NoTasks,
    /// There is no policy of that name.
    #[error("policy: expected one of {known}, found `{found}`")]
    PolicyUnknown {
        /// The name.
        found: String,
        /// The policies that there are.
        known: String,
    },
    /// No query was asked that policies could be compared by.
    #[error("nothing was asked yet that policies could be compared by")]
    NothingAsked,
    /// The last comparison of policies is not over.
    #[error("policies are being compared already")]
    Comparing,
    /// Nobody can listen to clients over the network.
    #[error("this session has no door to the network; `divisi serve` and `divisi` have one")]
    NoDoor,
    /// The door is open already.
    #[error("clients are listened to already")]
    DoorOpen,
    /// The door is not open.
    #[error("no client is listened to")]
    DoorNotOpen,
    /// An address cannot be listened at; says why.
    #[error("{0}")]
    NotListened(String),
    /// Another change of the models is under way; says which.
    #[error("the models are being changed ({0}); try again once that is over")]
    ModelsChanging(String),
    /// No change of the models was worked out under that number.
    #[error("this change of the models is not planned any more; plan it again")]
    NothingPlanned,
    /// No model is served.
    #[error("no model is served; load one first")]
    NothingServed,
    /// A search is running.
    #[error("a search is running; cancel it first")]
    SearchRunning,
    /// No search is running.
    #[error("no search is running")]
    SearchNotRunning,
    /// The running matrix does not fit into memory by itself.
    #[error(transparent)]
    DoesNotFit(DoesNotFit),
    /// A request of the load is larger than the pool.
    #[error("a request of {samples} samples is larger than the pool of {most}")]
    LoadTooLarge {
        /// Samples of the request that was asked for.
        samples: usize,
        /// Samples that the pool holds.
        most: usize,
    },
    /// The load does not start.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A thread could not be started; says why.
    #[error(transparent)]
    Thread(io::Error),
    /// The session does not record itself.
    #[error("this session cannot be recorded")]
    NotRecordable,
    /// A recording is being made already.
    #[error("recording to {} already", .0.display())]
    RecordingUnderWay(PathBuf),
    /// A recording cannot be begun; says where and why.
    #[error("cannot record to {}: {why}", .path.display())]
    RecordingFailed {
        /// Where.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Nothing is being recorded.
    #[error("nothing is being recorded")]
    RecordingNone,
    /// The session is played from a recording.
    #[error("this is a recording: nothing can be changed")]
    IsRecording,
    /// The session is not played from a recording.
    #[error("this is no recording")]
    IsNoRecording,
    /// Nobody else watches.
    #[error("nobody else watches")]
    NobodyElse,
    /// The session ends with its console.
    #[error("this session cannot be left running")]
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
            SessionRefusal::ModelsChanging(_) => Code::ChangeUnderWay,
            SessionRefusal::NothingPlanned => Code::PlanStale,
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
