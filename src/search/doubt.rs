//! How sure a figure is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metrics::student::t95;

/// What stands behind a throughput.
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
    Runs { runs: usize, error: f64 },
}

impl Doubt {
    /// That of so many runs that came to these samples a second.
    pub fn of_runs(rates: &[f64]) -> Self {
        match rates.len() {
            0 | 1 => Doubt::Once,
            runs => Doubt::Runs {
                runs,
                error: crate::metrics::stats::rsd(rates) / (runs as f64).sqrt(),
            },
        }
    }

    /// The relative standard error; `None` where it is not known.
    pub fn error(self) -> Option<f64> {
        match self {
            Doubt::Exact => Some(0.0),
            Doubt::Predicted | Doubt::Once => None,
            Doubt::Runs { error, .. } => Some(error),
        }
    }

    /// How far, as a share of it, the truth may be from the figure with 95 %; infinite
    /// where that is not known.
    pub fn margin(self) -> f64 {
        match self {
            Doubt::Exact => 0.0,
            Doubt::Predicted | Doubt::Once => f64::INFINITY,
            Doubt::Runs { runs, error } => t95(runs) * error,
        }
    }

    /// Runs that it comes from.
    pub fn runs(self) -> usize {
        match self {
            Doubt::Predicted => 0,
            Doubt::Exact | Doubt::Once => 1,
            Doubt::Runs { runs, .. } => runs,
        }
    }
}

impl fmt::Display for Doubt {
    /// What follows a figure: `exact`, `predicted`, `one run`, `± 0.8 %` (the standard
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
