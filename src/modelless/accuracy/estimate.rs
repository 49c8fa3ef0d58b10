//! A measured accuracy and its uncertainty.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::paired::PairedRows;
use crate::quantities::Accuracy;

/// The 97.5th percentile of the normal distribution: intervals contain the accuracy in 95 % of
/// cases.
const Z: f64 = 1.959_963_984_540_054;

/// The interval that contains the true accuracy with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccuracyInterval {
    /// The lower bound.
    pub low: Accuracy,
    /// The upper bound.
    pub high: Accuracy,
}

/// An accuracy: counted on rows, promised for a variant that was selected on the same rows, or
/// published without rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenEstimate", into = "WrittenEstimate")]
pub struct AccuracyEstimate {
    value: Accuracy,
    counted: Option<RightRows>,
}

/// A count of rows, and how many were correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RightRows {
    right: u32,
    rows: u32,
}

/// The serialized form of an estimate. A count implies the accuracy.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenEstimate {
    Counted(RightRows),
    Published(Accuracy),
    Promised(RightRows, Accuracy),
}

/// An impossible count.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected at least one row and at most as many right as rows, found {right} right of {rows}"
)]
pub struct EstimateError {
    /// The number of correct rows.
    pub right: u32,
    /// The number of rows.
    pub rows: u32,
}

impl AccuracyEstimate {
    /// Creates an estimate from the number of correct rows and the number of rows.
    ///
    /// # Errors
    /// Returns an error if there are no rows, or more correct rows than rows.
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

    /// Creates the estimate of a sub-ensemble that was selected among those of some voting members.
    /// Its accuracy is what it is expected to reach on other rows, and at most the counted accuracy.
    ///
    /// # Errors
    /// Returns an error if the counts contradict each other.
    pub fn selected(paired: PairedRows, voters: usize) -> Result<Self, EstimateError> {
        let (right, rows) = (paired.right, paired.rows);
        let value = match paired.is_possible() {
            true => Accuracy::new(paired.promised(voters)).ok(),
            false => None,
        };
        Self::promised(RightRows { right, rows }, value)
    }

    fn promised(counted: RightRows, value: Option<Accuracy>) -> Result<Self, EstimateError> {
        let RightRows { right, rows } = counted;
        let most = Self::counted(right, rows)?.value;
        match value.filter(|value| *value <= most) {
            Some(value) => Ok(AccuracyEstimate {
                value,
                counted: Some(counted),
            }),
            None => Err(EstimateError { right, rows }),
        }
    }

    /// Creates an estimate from a published accuracy without known rows.
    pub const fn published(value: Accuracy) -> Self {
        AccuracyEstimate {
            value,
            counted: None,
        }
    }

    /// Returns the accuracy that goals are compared with.
    pub const fn value(self) -> Accuracy {
        self.value
    }

    /// Returns the counted accuracy: the share of correct rows. It is too high for a variant that
    /// was selected on these rows. It is `None` if the accuracy was not counted.
    pub fn counted_value(self) -> Option<Accuracy> {
        let counted = self.counted?;
        Accuracy::new(f64::from(counted.right) / f64::from(counted.rows)).ok()
    }

    /// Compares accuracies that are rounded to whole rows. Smaller differences are noise, so they do
    /// not rank variants.
    pub fn cmp_rows(self, other: Self) -> Ordering {
        let rounded = |estimate: Self| match estimate.counted {
            Some(RightRows { rows, .. }) => {
                (estimate.value.get() * f64::from(rows)).round() / f64::from(rows)
            }
            None => estimate.value.get(),
        };
        rounded(self).total_cmp(&rounded(other))
    }

    /// Returns the number of rows, or `None` if the accuracy was not counted.
    pub fn rows(self) -> Option<u32> {
        self.counted.map(|c| c.rows)
    }

    /// Returns Wilson's score interval (E. B. Wilson, JASA 22, 1927) of 95 % around the accuracy, or
    /// `None` if the accuracy was not counted.
    ///
    /// Unlike the interval of the normal approximation, it stays within 0 and 1, and is not empty
    /// if all rows are correct.
    pub fn interval(self) -> Option<AccuracyInterval> {
        let counted = self.counted?;
        let (p, n) = (self.value.get(), f64::from(counted.rows));
        let shrink = 1.0 + Z * Z / n;
        let centre = (p + Z * Z / (2.0 * n)) / shrink;
        let half = Z / shrink * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let end = |value: f64| Accuracy::new(value.clamp(0.0, 1.0)).unwrap_or(self.value);
        // Rounding must not exclude the counted accuracy.
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
            WrittenEstimate::Promised(counted, value) => Self::promised(counted, Some(value)),
        }
    }
}

impl From<AccuracyEstimate> for WrittenEstimate {
    fn from(estimate: AccuracyEstimate) -> Self {
        match estimate.counted {
            Some(counted) if estimate.counted_value() == Some(estimate.value) => {
                WrittenEstimate::Counted(counted)
            }
            Some(counted) => WrittenEstimate::Promised(counted, estimate.value),
            None => WrittenEstimate::Published(estimate.value),
        }
    }
}
