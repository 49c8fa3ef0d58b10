//! Why precisions cannot be chosen by the accuracy that they lose.

use thiserror::Error;

use divisi_model::codes::{Code, Coded};

use super::answers::UnevenAnswers;

/// Why precisions cannot be chosen by the accuracy that they lose.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AccuracyLossError {
    /// Several models are served together, or a pipeline, which no rule combines.
    #[error("expected one ensemble, found {0}")]
    NoEnsemble(&'static str),
    /// The ensemble does not answer classes.
    #[error("expected an ensemble of classes, found one of {0}")]
    NoClasses(&'static str),
    /// The weights are made up.
    #[error("`{0}` has synthetic weights: accuracy would mean nothing")]
    Synthetic(String),
    /// The samples have no labels.
    #[error("expected samples with labels, found none")]
    NoLabels,
    /// A device is simulated.
    #[error(
        "expected devices that compute, found `{0}`, which is simulated: it answers constants, \
         and takes the same time in every precision"
    )]
    Simulated(String),
    /// Processors and GPUs are served on together.
    #[error(
        "expected processors alone or GPUs alone, since they differ in their precisions and \
         answers, found `{cores}` and `{gpu}`"
    )]
    MixedDevices {
        /// A partition of processors.
        cores: String,
        /// A GPU.
        gpu: String,
    },
    /// The answers do not belong together.
    #[error(transparent)]
    Uneven(#[from] UnevenAnswers),
}

impl Coded for AccuracyLossError {
    fn code(&self) -> Code {
        Code::SearchInvalid
    }
}
