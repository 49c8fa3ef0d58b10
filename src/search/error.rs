//! Why a search ends without a matrix.

use thiserror::Error;

use crate::allocation::{DoesNotFit, InvalidMatrix};
use crate::serving::{ApplyError, EngineError};

/// The search was cancelled.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the search was cancelled")]
pub struct Stopped;

/// Why a search gave no matrix.
#[derive(Debug, Error)]
pub enum SearchError {
    #[error("no device is large enough: {0}")]
    NoDevice(DoesNotFit),
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    #[error("the evaluation broke down: {0}")]
    Evaluation(String),
    /// What is asked makes no sense; says what was expected.
    #[error("{0}")]
    Asked(String),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

// Not `#[from]`: a message that names its cause must not have it named again by
// whoever prints the chain.
impl From<DoesNotFit> for SearchError {
    fn from(error: DoesNotFit) -> Self {
        SearchError::NoDevice(error)
    }
}

impl From<EngineError> for SearchError {
    fn from(error: EngineError) -> Self {
        SearchError::Evaluation(error.to_string())
    }
}

impl From<ApplyError> for SearchError {
    fn from(error: ApplyError) -> Self {
        SearchError::Evaluation(error.to_string())
    }
}
