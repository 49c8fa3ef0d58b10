//! Why what is served does not change.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::allocation::SegmentTooLarge;
use crate::catalogue::CatalogueError;
use crate::codes::{Code, Coded};
use crate::search::SearchError;
use crate::serving::EngineError;

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
    /// The models that are served are fixed.
    #[error("the models are those that the server was started with")]
    Fixed,
    /// No model would be served.
    #[error("no model would be left to serve{0}")]
    Nothing(String),
    /// The models are no catalogue.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// There is no matrix for them.
    #[error(transparent)]
    Placement(#[from] SearchError),
    /// They do not fit beside those that run.
    #[error(
        "`{device}` has {free} bytes free beside what runs, and {needed} are needed; unload \
         something first"
    )]
    Beside {
        /// The device.
        device: String,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Their pool is too small for a segment.
    #[error(transparent)]
    Segment(#[from] SegmentTooLarge),
    /// Their engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
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
            DeploymentError::Failed { .. } => Code::ModelInvalid,
            DeploymentError::Overridden(_) => Code::ModelUnsupported,
            DeploymentError::Used { .. } => Code::ModelUsed,
            DeploymentError::Fixed => Code::ModelsFixed,
            DeploymentError::Nothing(_) | DeploymentError::Catalogue(_) => Code::NoModels,
            DeploymentError::Placement(_)
            | DeploymentError::Beside { .. }
            | DeploymentError::Segment(_) => Code::DoesNotFit,
            DeploymentError::Engine(_) => Code::WorkerNotBuilt,
        }
    }
}
