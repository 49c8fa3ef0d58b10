//! A predicted throughput with its interval.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::search::evaluator::Score;

/// The fewest past errors for an interval. Fewer do not contain 90 % of measurements.
pub(in crate::search) const ENOUGH: usize = 9;

/// The source of the batch costs behind a prediction, the least reliable first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum PredictionBasis {
    /// Batches seen while serving at any load. Cold caches and waking threads slow these down.
    #[default]
    Seen,
    /// Batches seen while serving at capacity.
    SeenAtCapacity,
    /// Profiles.
    Profiles,
    /// The laws of simulated devices.
    Laws,
}

impl PredictionBasis {
    /// Returns the half-width of the interval, as a factor, until enough errors are known. The
    /// worst known cases: batches seen at low load predicted three times the measured throughput,
    /// profiles of a busy machine half of it, and a model of four V100s five sixths of
    /// a run in virtual time.
    pub fn prior(self) -> f64 {
        match self {
            PredictionBasis::Seen => 3.0,
            PredictionBasis::SeenAtCapacity | PredictionBasis::Profiles => 2.0,
            PredictionBasis::Laws => 1.25,
        }
    }

    /// Returns whether past errors correct predictions. Laws are exact, so that simulations repeat.
    pub fn is_corrected(self) -> bool {
        self != PredictionBasis::Laws
    }
}

impl fmt::Display for PredictionBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PredictionBasis::Seen => "batches seen while serving",
            PredictionBasis::SeenAtCapacity => "batches seen at capacity",
            PredictionBasis::Profiles => "profiles",
            PredictionBasis::Laws => "device laws",
        })
    }
}

/// A predicted throughput with the interval that contains the measured throughput in nine of ten
/// cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Predicted {
    /// Samples per second.
    pub samples_per_s: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The source of the batch costs.
    pub basis: PredictionBasis,
    /// The number of past errors behind the interval. Below
    /// [`PredictionLedger::ENOUGH`](super::PredictionLedger::ENOUGH), the interval is the assumed one of the
    /// basis.
    pub errors: usize,
}

impl Predicted {
    /// Returns the prediction as a score.
    pub fn score(&self) -> Score {
        let spread = self.high / self.samples_per_s.max(f64::MIN_POSITIVE);
        Score::predicted(self.samples_per_s, spread.max(1.0))
    }

    /// Returns the source of the prediction and of its interval, in words.
    pub fn grounds(&self) -> String {
        let (basis, errors) = (self.basis, self.errors);
        match errors >= ENOUGH {
            true => format!("{basis}; range of 9 in 10 by {errors} past errors"),
            false => format!("{basis}; assumed range, {errors} past errors"),
        }
    }
}
