//! The errors of a choice of precisions by accuracy loss.

use thiserror::Error;

use divisi_model::codes::{Code, Coded};

use super::answers::UnevenAnswers;

/// The errors of a choice of precisions by accuracy loss.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AccuracyLossError {
    /// There are several models, or a pipeline, which has no combination rule.
    #[error("expected one ensemble, found {0}")]
    NoEnsemble(&'static str),
    /// The ensemble does not answer classes.
    #[error("expected an ensemble of classes, found one of {0}")]
    NoClasses(&'static str),
    /// The weights are synthetic.
    #[error("`{0}` has synthetic weights: accuracy would mean nothing")]
    Synthetic(String),
    /// The samples have no labels.
    #[error("expected samples with labels, found none")]
    NoLabels,
    /// A device is simulated.
    #[error(
        "expected real devices, found `{0}`, which is simulated: it answers constants and takes \
         the same time in every precision"
    )]
    Simulated(String),
    /// The devices include both processors and GPUs.
    #[error(
        "expected only CPUs or only GPUs, because their precisions and answers differ; found \
         `{cores}` and `{gpu}`"
    )]
    MixedDevices {
        /// A partition of processors.
        cores: String,
        /// A GPU.
        gpu: String,
    },
    /// The answers do not match.
    #[error(transparent)]
    Uneven(#[from] UnevenAnswers),
}

impl Coded for AccuracyLossError {
    fn code(&self) -> Code {
        Code::SearchInvalid
    }
}
