//! An accuracy that was counted, and how far it may be off.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::quantities::Accuracy;

/// The 97.5th percentile of the normal distribution: intervals hold the accuracy in 95 % of cases.
const Z: f64 = 1.959_963_984_540_054;

/// Where the accuracy on all rows of the kind lies, with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccuracyInterval {
    /// The lower end.
    pub low: Accuracy,
    /// The upper end.
    pub high: Accuracy,
}

/// An accuracy: counted on rows, or published by somebody without them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenEstimate", into = "WrittenEstimate")]
pub struct AccuracyEstimate {
    value: Accuracy,
    counted: Option<RightRows>,
}

/// How many of how many rows were answered rightly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RightRows {
    right: u32,
    rows: u32,
}

/// An estimate as it is written: a count says the accuracy by itself.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenEstimate {
    Counted(RightRows),
    Published(Accuracy),
}

/// Rows that cannot have been counted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected at least one row and at most as many right as rows, found {right} right of {rows}"
)]
pub struct EstimateError {
    /// The rows said to be answered rightly.
    pub right: u32,
    /// The rows said to be there.
    pub rows: u32,
}

impl AccuracyEstimate {
    /// Takes the number of rows that were answered rightly, of how many.
    ///
    /// # Errors
    /// There are no rows, or fewer than were answered rightly.
    pub fn counted(right: u32, rows: u32) -> Result<Self, EstimateError> {
        let fraction = f64::from(right) / f64::from(rows);
        match Accuracy::new(fraction) {
            Ok(value) => Ok(AccuracyEstimate {
                value,
                counted: Some(RightRows { right, rows }),
            }),
            Err(_) => Err(EstimateError { right, rows }),
        }
    }

    /// Takes an accuracy that somebody published, of which the rows are not known.
    pub const fn published(value: Accuracy) -> Self {
        AccuracyEstimate {
            value,
            counted: None,
        }
    }

    /// Returns the accuracy.
    pub const fn value(self) -> Accuracy {
        self.value
    }

    /// Returns the number of rows that it was counted on, or `None` where it was not.
    pub fn rows(self) -> Option<u32> {
        self.counted.map(|c| c.rows)
    }

    /// Returns Wilson's score interval (E. B. Wilson, JASA 22, 1927) of 95 %, or `None` where
    /// the accuracy was not counted.
    ///
    /// Unlike the interval of the normal approximation it stays within 0 and 1, and is not empty
    /// where all rows were answered rightly.
    pub fn interval(self) -> Option<AccuracyInterval> {
        let counted = self.counted?;
        let (p, n) = (self.value.get(), f64::from(counted.rows));
        let shrink = 1.0 + Z * Z / n;
        let centre = (p + Z * Z / (2.0 * n)) / shrink;
        let half = Z / shrink * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let end = |value: f64| Accuracy::new(value.clamp(0.0, 1.0)).unwrap_or(self.value);
        // Rounding must not leave the counted accuracy outside.
        Some(AccuracyInterval {
            low: end((centre - half).min(p)),
            high: end((centre + half).max(p)),
        })
    }
}

impl TryFrom<WrittenEstimate> for AccuracyEstimate {
    type Error = EstimateError;

    fn try_from(written: WrittenEstimate) -> Result<Self, Self::Error> {
        match written {
            WrittenEstimate::Counted(c) => Self::counted(c.right, c.rows),
            WrittenEstimate::Published(value) => Ok(Self::published(value)),
        }
    }
}

impl From<AccuracyEstimate> for WrittenEstimate {
    fn from(estimate: AccuracyEstimate) -> Self {
        match estimate.counted {
            Some(counted) => WrittenEstimate::Counted(counted),
            None => WrittenEstimate::Published(estimate.value),
        }
    }
}
