//! The score of a matrix, how sure it is, and the trait of those that score.

use std::fmt;

use serde::{Deserialize, Serialize};

use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::{mean_and_error, rsd, t95};

use super::error::SearchError;

/// Samples a second that a matrix serves, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// 0 where the matrix does not fit.
    pub samples_per_s: f64,
    /// The uncertainty of that.
    pub doubt: Doubt,
}

impl Score {
    /// The score of a matrix that does not fit.
    pub const NONE: Score = Score {
        samples_per_s: 0.0,
        doubt: Doubt::Exact,
    };

    /// Returns a score that repeats exactly.
    pub fn exact(samples_per_s: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Exact,
        }
    }

    /// Returns a score that the model predicts.
    pub fn predicted(samples_per_s: f64) -> Self {
        Score {
            samples_per_s,
            doubt: Doubt::Predicted,
        }
    }

    /// Returns the mean of runs with these samples a second.
    pub fn of_runs(rates: &[f64]) -> Self {
        Score {
            samples_per_s: mean_and_error(rates).0,
            doubt: Doubt::of_runs(rates),
        }
    }
}

/// Scores matrices.
pub trait Evaluator {
    /// Returns its name on the screen.
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

/// The source of a throughput, and its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Doubt {
    /// It comes out the same again: a run in virtual time.
    #[default]
    Exact,
    /// By the model, as good as that and its profiles are.
    Predicted,
    /// One run, which says nothing of its error.
    Once,
    /// The mean of so many runs, or of parts of one, with its relative standard error.
    Runs {
        /// The number of runs.
        runs: usize,
        /// The relative standard error.
        error: f64,
    },
}

impl Doubt {
    /// Returns the uncertainty of the mean of runs with these samples a second.
    pub fn of_runs(rates: &[f64]) -> Self {
        match rates.len() {
            0 | 1 => Doubt::Once,
            runs => Doubt::Runs {
                runs,
                error: rsd(rates) / (runs as f64).sqrt(),
            },
        }
    }

    /// Returns the relative standard error, or `None` if it is not known.
    pub fn error(self) -> Option<f64> {
        match self {
            Doubt::Exact => Some(0.0),
            Doubt::Predicted | Doubt::Once => None,
            Doubt::Runs { error, .. } => Some(error),
        }
    }

    /// Returns the half-width of the 95 % interval as a share of the figure; infinite if it is
    /// not known.
    pub fn margin(self) -> f64 {
        match self {
            Doubt::Exact => 0.0,
            Doubt::Predicted | Doubt::Once => f64::INFINITY,
            Doubt::Runs { runs, error } => t95(runs) * error,
        }
    }

    /// Returns the number of runs that it comes from.
    pub fn runs(self) -> usize {
        match self {
            Doubt::Predicted => 0,
            Doubt::Exact | Doubt::Once => 1,
            Doubt::Runs { runs, .. } => runs,
        }
    }
}

impl fmt::Display for Doubt {
    /// Writes the note after a figure: `exact`, `predicted`, `one run`, `± 0.8 %` (the standard
    /// error).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Exact => f.write_str("exact"),
            Doubt::Predicted => f.write_str("predicted"),
            Doubt::Once => f.write_str("one run"),
            Doubt::Runs { error, .. } => write!(f, "± {:.1} %", 100.0 * error),
        }
    }
}
