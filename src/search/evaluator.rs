//! What scores a matrix.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::allocation::{DoesNotFit, InvalidMatrix, Matrix};
use crate::metrics::student::mean_and_error;
use crate::serving::{EngineError, ReloadError};

use super::control::Stopped;
use super::doubt::Doubt;

/// Samples a second that a matrix serves, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// 0 where the matrix does not fit.
    pub samples_per_s: f64,
    pub doubt: Doubt,
}

impl Score {
    /// The score of a matrix that does not fit.
    pub const NONE: Score = Score {
        samples_per_s: 0.0,
        doubt: Doubt::Exact,
    };

    /// A figure that comes out the same again.
    pub fn exact(samples_per_s: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Exact,
        }
    }

    /// What the model says.
    pub fn predicted(samples_per_s: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Predicted,
        }
    }

    /// The mean of runs that came to these samples a second.
    pub fn of_runs(rates: &[f64]) -> Self {
        Score {
            samples_per_s: mean_and_error(rates).0,
            doubt: Doubt::of_runs(rates),
        }
    }
}

/// Scores matrices.
pub trait Evaluator {
    /// Its name on the screen.
    fn name(&self) -> &'static str;

    /// Scores `matrix`. Where it is clearly below `best`, a rough figure will do.
    ///
    /// # Errors
    /// The evaluator broke down, or was stopped; a matrix that does not fit is no
    /// error but scores 0.
    fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError>;

    /// Samples a second of `matrix` in the long run, where that is known at next to no
    /// cost: it decides between matrices whose scores are equal. 0 where it is not.
    fn steady(&mut self, matrix: &Matrix) -> f64 {
        let _ = matrix;
        0.0
    }

    /// Scores `matrix` in about the time of `samples` samples, where less time means a
    /// rougher figure.
    ///
    /// # Errors
    /// As [`Evaluator::score`].
    fn glance(&mut self, matrix: &Matrix, samples: usize) -> Result<Score, SearchError> {
        let _ = samples;
        self.score(matrix, 0.0)
    }
}

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

impl From<ReloadError> for SearchError {
    fn from(error: ReloadError) -> Self {
        SearchError::Evaluation(error.to_string())
    }
}
