//! The errors of changes of the served models.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::search::SearchError;
use crate::serving::{ApplyError, EngineError, PlanError};
use divisi_model::allocation::SegmentTooLarge;
use divisi_model::catalogue::CatalogueError;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::words::format_bytes;

use super::place::NoRoomBeside;

/// The reason why the served models do not change as requested.
#[derive(Debug, Error)]
pub enum DeploymentError {
    /// There is no model with this name.
    #[error("there is no model `{0}`")]
    Unknown(String),
    /// A model cannot be read.
    #[error("model `{name}`: {reason}")]
    Failed {
        /// The model's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A load overrides the model's files, and its source does not support this.
    #[error("model `{0}`: its manifest is fixed; only models of a repository can be configured")]
    Overridden(String),
    /// A pipeline uses the model to unload.
    #[error(
        "model `{name}` is used by `{by}`; unload that first, or both with `unload_dependents`"
    )]
    Used {
        /// The model's name.
        name: String,
        /// The pipeline's name.
        by: String,
    },
    /// A pipeline uses the model to load, and could not be served with it.
    #[error("model `{name}`: `{by}` uses it and cannot be served with it: {reason}")]
    Breaks {
        /// The model's name.
        name: String,
        /// The pipeline's name.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The served models are fixed.
    #[error("the server was started with a fixed set of models")]
    Fixed,
    /// The served models follow their files.
    #[error(
        "models cannot be loaded or unloaded by name while the server polls their files; change \
         the files instead"
    )]
    Polled,
    /// The models cannot be read.
    #[error("{0}; the served models stay")]
    Unreadable(String),
    /// No model can be served.
    #[error("no model can be served{0}")]
    Nothing(String),
    /// The models do not form a valid catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// There is no matrix for the models.
    #[error(transparent)]
    Placement(#[from] SearchError),
    /// The models do not fit, but would fit without one of the served models.
    #[error("{reason}; it fits without `{would}`")]
    Alone {
        /// The reason.
        reason: Box<SearchError>,
        /// The models of which one has to be unloaded.
        would: String,
    },
    /// The models do not fit next to the running ones.
    #[error("{}; let the old engine end first, or unload a model", free_memory_text(.device, *.needed, *.free))]
    Beside {
        /// The device.
        device: String,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The running setup changed after the plan was made, or a device was lost meanwhile.
    #[error("another change came first; try again")]
    Stale,
    /// The server is ending.
    #[error("the server is ending; nothing changes any more")]
    Ending,
    /// The models of a setup are no longer kept.
    #[error("the models of this setup are no longer kept; load them again")]
    NotKept,
    /// The setup of the running models cannot be applied.
    #[error(transparent)]
    Setup(#[from] ApplyError),
    /// The old engine had ended, the new engine did not start, and the old models serve again.
    #[error("{reason}; the previous models serve again, after a gap of {} ms", .gap.as_millis())]
    CameBack {
        /// The reason why the new engine did not start.
        reason: String,
        /// The time in which no request could begin.
        gap: Duration,
    },
    /// The pool of the models is too small for a segment.
    #[error(transparent)]
    Segment(#[from] SegmentTooLarge),
    /// The engine of the models does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Formats the free and the needed memory of a device.
pub(super) fn free_memory_text(device: &str, needed: u64, free: u64) -> String {
    let (needed, free) = (format_bytes(needed), format_bytes(free));
    format!("`{device}` has {free} free next to the running models; {needed} are needed")
}

impl From<PlanError> for DeploymentError {
    fn from(error: PlanError) -> Self {
        ApplyError::from(error).into()
    }
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
        f.write_str(&free_memory_text(&self.device, self.needed, self.free))
    }
}

impl DeploymentError {
    /// Returns whether something else runs than when the change was planned.
    pub fn is_stale(&self) -> bool {
        use DeploymentError::{Setup, Stale};
        matches!(self, Stale | Setup(ApplyError::Stale))
    }

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
            DeploymentError::Stale | DeploymentError::NotKept => Code::PlanStale,
            DeploymentError::Ending => Code::ChangeUnderWay,
            DeploymentError::Setup(error) => error.code(),
            DeploymentError::Engine(_) | DeploymentError::CameBack { .. } => Code::WorkerNotBuilt,
        }
    }
}
