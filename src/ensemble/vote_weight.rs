//! How much a member's answers count in a weighted vote.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::words;

/// A member's weight in `weighted-average`, from [`VoteWeight::LEAST`] to
/// [`VoteWeight::MOST`].
///
/// No weight is 0: in files and dialogs a 0 stands for a member that does not vote, under
/// any rule ([`VoteWeight::written`]). Within these bounds the sum of an ensemble's
/// weights is finite and above 0, and no share of it vanishes in float32.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct VoteWeight(f64);

/// A number that is no weight.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum VoteWeightError {
    #[error("expected a number from {least} to {most}, found {found}", least = VoteWeight::LEAST, most = VoteWeight::MOST, found = words::number(*.0))]
    Weight(f64),
    #[error("expected a number from {least} to {most}, or 0 for a member that does not vote, found {found}", least = VoteWeight::LEAST, most = VoteWeight::MOST, found = words::number(*.0))]
    Written(f64),
}

impl VoteWeight {
    /// The least weight of a member that votes.
    pub const LEAST: f64 = 1e-6;
    /// The largest weight.
    pub const MOST: f64 = 1e6;

    /// Takes a number within the bounds.
    ///
    /// # Errors
    /// [`VoteWeightError::Weight`].
    pub fn new(weight: f64) -> Result<Self, VoteWeightError> {
        if (Self::LEAST..=Self::MOST).contains(&weight) {
            Ok(VoteWeight(weight))
        } else {
            Err(VoteWeightError::Weight(weight))
        }
    }

    /// Takes a number as people write it; returns `None` for 0, a member that does not
    /// vote.
    ///
    /// # Errors
    /// [`VoteWeightError::Written`].
    pub fn written(weight: f64) -> Result<Option<Self>, VoteWeightError> {
        if weight == 0.0 {
            return Ok(None);
        }
        let read = Self::new(weight).map_err(|_| VoteWeightError::Written(weight));
        read.map(Some)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for VoteWeight {
    fn default() -> Self {
        VoteWeight(1.0)
    }
}

impl TryFrom<f64> for VoteWeight {
    type Error = VoteWeightError;

    fn try_from(weight: f64) -> Result<Self, VoteWeightError> {
        VoteWeight::new(weight)
    }
}

impl From<VoteWeight> for f64 {
    fn from(weight: VoteWeight) -> f64 {
        weight.0
    }
}

impl fmt::Display for VoteWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
