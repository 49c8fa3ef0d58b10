//! The score of a matrix with its uncertainty, and the trait of evaluators.

use std::fmt;

use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::{mean_and_error, rsd, t95};

use super::error::SearchError;

/// The throughput of a matrix in samples per second, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Samples per second, or 0 if the matrix does not fit.
    pub samples_per_s: f64,
    /// The uncertainty of the throughput.
    pub doubt: Doubt,
}

impl Score {
    /// The score of a matrix that does not fit.
    pub const NONE: Score = Score {
        samples_per_s: 0.0,
        doubt: Doubt::Exact,
    };

    /// Returns a score that is exactly repeatable.
    pub fn exact(samples_per_s: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Exact,
        }
    }

    /// Returns a score that the model predicts, with the half-width of its interval as a factor.
    pub fn predicted(samples_per_s: f64, spread: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Predicted { spread },
        }
    }

    /// Returns the mean score of runs with these samples per second.
    pub fn of_runs(rates: &[f64]) -> Self {
        Score {
            samples_per_s: mean_and_error(rates).0,
            doubt: Doubt::of_runs(rates),
        }
    }
}

/// Scores matrices.
pub trait Evaluator {
    /// Scores `matrix`. A rough figure is enough if the matrix is clearly below `best`.
    ///
    /// # Errors
    /// The evaluator failed or was stopped. A matrix that does not fit is not an error and scores
    /// 0.
    fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError>;

    /// Returns the samples per second of `matrix` in the long run, or 0 if they are not known at
    /// almost no cost. They decide between matrices with equal scores.
    fn steady(&mut self, matrix: &Matrix) -> f64 {
        let _ = matrix;
        0.0
    }

    /// Scores `matrix` in about the time of `samples` samples. A shorter time makes the figure
    /// rougher.
    ///
    /// # Errors
    /// See [`Evaluator::score`].
    fn glance(&mut self, matrix: &Matrix, samples: usize) -> Result<Score, SearchError> {
        let _ = samples;
        self.score(matrix, 0.0)
    }
}

/// The source of a throughput, and its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Doubt {
    /// Exactly repeatable: a run in virtual time.
    #[default]
    Exact,
    /// Predicted by the model.
    Predicted {
        /// The half-width of the interval as a factor, from past errors.
        spread: f64,
    },
    /// One run, with an unknown error.
    Once,
    /// The mean of several runs, or of parts of one run, with its relative standard error.
    Runs {
        /// The number of runs.
        runs: usize,
        /// The relative standard error.
        error: f64,
    },
}

impl Doubt {
    /// Returns the uncertainty of the mean of runs with these samples per second.
    pub fn of_runs(rates: &[f64]) -> Self {
        match rates.len() {
            0 | 1 => Doubt::Once,
            runs => Doubt::Runs {
                runs,
                error: rsd(rates) / (runs as f64).sqrt(),
            },
        }
    }

    /// Returns the relative standard error, or `None` if it is unknown.
    pub fn error(self) -> Option<f64> {
        match self {
            Doubt::Exact => Some(0.0),
            Doubt::Predicted { .. } | Doubt::Once => None,
            Doubt::Runs { error, .. } => Some(error),
        }
    }

    /// Returns the half-width of the 95 % interval as a share of the figure, or infinity if runs do
    /// not determine it.
    pub fn margin(self) -> f64 {
        match self {
            Doubt::Exact => 0.0,
            Doubt::Predicted { .. } | Doubt::Once => f64::INFINITY,
            Doubt::Runs { runs, error } => t95(runs) * error,
        }
    }

    /// Returns the number of runs behind the figure.
    pub fn runs(self) -> usize {
        match self {
            Doubt::Predicted { .. } => 0,
            Doubt::Exact | Doubt::Once => 1,
            Doubt::Runs { runs, .. } => runs,
        }
    }
}

impl fmt::Display for Doubt {
    /// Writes the note after a figure: `exact`, `predicted, −17 … +20 %` (nine in ten cases),
    /// `one run`, `± 0.8 %` (the standard error).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Exact => f.write_str("exact"),
            Doubt::Predicted { spread } => {
                let (low, high) = (100.0 * (1.0 - 1.0 / spread), 100.0 * (spread - 1.0));
                write!(f, "predicted, −{low:.0} … +{high:.0} %")
            }
            Doubt::Once => f.write_str("one run"),
            Doubt::Runs { error, .. } => write!(f, "± {:.1} %", 100.0 * error),
        }
    }
}
