//! Why what is served does not change.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::search::SearchError;
use crate::serving::EngineError;
use divisi_model::allocation::SegmentTooLarge;
use divisi_model::catalogue::CatalogueError;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::words::format_bytes;

use super::place::NoRoomBeside;

/// Why models are not served as they were asked for.
#[derive(Debug, Error)]
pub enum DeploymentError {
    /// There is no model of that name.
    #[error("there is no model `{0}`")]
    Unknown(String),
    /// A model cannot be read.
    #[error("model `{name}`: {reason}")]
    Failed {
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A model is wanted otherwise than its files say, and its source reads them alone.
    #[error("model `{0}`: it is as its manifest says; those of a repository may be configured")]
    Overridden(String),
    /// A pipeline uses a model that is to be unloaded.
    #[error(
        "model `{name}` is used by `{by}`; unload that first, or both with `unload_dependents`"
    )]
    Used {
        /// The model's name.
        name: String,
        /// The pipeline's.
        by: String,
    },
    /// A pipeline uses a model that is to be loaded, and could not be served with it.
    #[error("model `{name}`: `{by}`, which uses it, cannot be served with it: {reason}")]
    Breaks {
        /// The model's name.
        name: String,
        /// The pipeline's.
        by: String,
        /// Why not.
        reason: String,
    },
    /// The models that are served are fixed.
    #[error("the models are those that the server was started with")]
    Fixed,
    /// The models that are served follow their files.
    #[error(
        "models are not loaded or unloaded one by one while the files of all are looked at again and \
         again; change the files instead"
    )]
    Polled,
    /// The models cannot be looked at.
    #[error("{0}; the models that are served stay")]
    Unreadable(String),
    /// No model can be served.
    #[error("no model can be served{0}")]
    Nothing(String),
    /// The models are no catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// There is no matrix for them.
    #[error(transparent)]
    Placement(#[from] SearchError),
    /// They do not fit, and would without one of those that are served.
    #[error("{reason}; it fits without `{would}`")]
    Alone {
        /// Why not.
        reason: Box<SearchError>,
        /// The models without any of which they would.
        would: String,
    },
    /// They do not fit beside those that run.
    #[error("{}; the old one may end first, or something be unloaded", beside(.device, *.needed, *.free))]
    Beside {
        /// The device.
        device: String,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Something else has changed since it was planned.
    #[error("other models are served since this was planned; plan it again")]
    Stale,
    /// No change can be undone.
    #[error("no other models were served before")]
    NoUndo,
    /// No undo can be redone.
    #[error("no change of the models was undone")]
    NoRedo,
    /// The old engine had ended when the new one did not start.
    #[error("{reason}; the models of before serve again, after a gap of {} ms", .gap.as_millis())]
    CameBack {
        /// Why it did not start.
        reason: String,
        /// The time in which no request was begun.
        gap: Duration,
    },
    /// Their pool is too small for a segment.
    #[error(transparent)]
    Segment(#[from] SegmentTooLarge),
    /// Their engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Says which device has how little room.
pub(super) fn beside(device: &str, needed: u64, free: u64) -> String {
    let (needed, free) = (format_bytes(needed), format_bytes(free));
    format!("`{device}` has {free} free beside what runs, and {needed} are needed")
}

impl From<NoRoomBeside> for DeploymentError {
    fn from(room: NoRoomBeside) -> Self {
        DeploymentError::Beside {
            device: room.device,
            needed: room.needed,
            free: room.free,
        }
    }
}

impl fmt::Display for NoRoomBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&beside(&self.device, self.needed, self.free))
    }
}

impl DeploymentError {
    pub(super) fn failed(name: &str, reason: &str) -> Self {
        DeploymentError::Failed {
            name: name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn used(name: &str, by: &str) -> Self {
        DeploymentError::Used {
            name: name.to_owned(),
            by: by.to_owned(),
        }
    }

    pub(super) fn nothing(failures: &BTreeMap<String, String>) -> Self {
        let reasons = failures.iter();
        let reasons = reasons.map(|(name, reason)| format!("\nmodel `{name}`: {reason}"));
        DeploymentError::Nothing(reasons.collect())
    }
}

impl Coded for DeploymentError {
    fn code(&self) -> Code {
        match self {
            DeploymentError::Unknown(_) => Code::ModelUnknown,
            DeploymentError::Failed { .. } | DeploymentError::Breaks { .. } => Code::ModelInvalid,
            DeploymentError::Unreadable(_) => Code::ModelsUnreadable,
            DeploymentError::Overridden(_) => Code::ModelUnsupported,
            DeploymentError::Used { .. } => Code::ModelUsed,
            DeploymentError::Fixed => Code::ModelsFixed,
            DeploymentError::Polled => Code::ModelsPolled,
            DeploymentError::Nothing(_) | DeploymentError::Catalogue(_) => Code::NoModels,
            DeploymentError::Placement(_)
            | DeploymentError::Alone { .. }
            | DeploymentError::Beside { .. }
            | DeploymentError::Segment(_) => Code::DoesNotFit,
            DeploymentError::Stale => Code::PlanStale,
            DeploymentError::NoUndo => Code::NoUndo,
            DeploymentError::NoRedo => Code::NoRedo,
            DeploymentError::Engine(_) | DeploymentError::CameBack { .. } => Code::WorkerNotBuilt,
        }
    }
}
