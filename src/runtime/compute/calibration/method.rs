//! Methods to choose a range from the numbers of a value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reading::ReadError;

/// A way to choose the range of a value from its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RangeMethod {
    /// The range from the least number to the greatest.
    #[default]
    MinMax,
    /// Without the outermost numbers.
    Percentile(Percentile),
    /// The range in which bytes keep most of the distribution, by its Kullback–Leibler divergence
    /// (Migacz, "8-bit inference with TensorRT", GPU Technology Conference 2017).
    Entropy,
}

impl RangeMethod {
    /// Returns the name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            RangeMethod::MinMax => "min-max",
            RangeMethod::Percentile(_) => "percentile",
            RangeMethod::Entropy => "entropy",
        }
    }
}

impl fmt::Display for RangeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeMethod::Percentile(share) => write!(f, "percentile {}", share.percent()),
            other => f.write_str(other.name()),
        }
    }
}

/// The share of numbers that a range holds, in percent: above 50, at most 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percentile(f64);

impl Percentile {
    /// Creates the share of `percent`.
    ///
    /// # Errors
    /// It is not above 50, or above 100.
    pub fn new(percent: f64) -> Result<Self, ReadError> {
        let is_share = percent > 50.0 && percent <= 100.0;
        let share = is_share.then_some(Percentile(percent));
        share.ok_or_else(|| ReadError::expected("a percentage above 50 and at most 100", percent))
    }

    /// Returns the share in percent.
    pub const fn percent(self) -> f64 {
        self.0
    }
}

impl Default for Percentile {
    /// Returns the percentile that leaves out one number in ten thousand.
    fn default() -> Self {
        Percentile(99.99)
    }
}

impl TryFrom<f64> for Percentile {
    type Error = ReadError;

    fn try_from(percent: f64) -> Result<Self, ReadError> {
        Percentile::new(percent)
    }
}

impl From<Percentile> for f64 {
    fn from(share: Percentile) -> f64 {
        share.percent()
    }
}
