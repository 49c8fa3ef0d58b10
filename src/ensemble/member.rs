//! One trained network of an ensemble, and its weight in the vote.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::network::{Graph, Weights};
use crate::words;

use super::input::Input;
use super::logits::Temperature;

/// What the network's last layer gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// Numbers that a softmax turns into probabilities.
    #[default]
    Logits,
    /// Numbers from 0 to 1 that sum to 1, a class each.
    Probabilities,
    /// Numbers that are no probabilities and are to be taken as they are.
    Values,
}

impl OutputKind {
    /// Whether the manifest promises that rows are probabilities already.
    pub fn is_declared(self) -> bool {
        self == OutputKind::Probabilities
    }
}

/// A member: its network, weights, and its say in the vote.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub graph: Arc<Graph>,
    pub weights: Arc<Weights>,
    /// What the network takes: the ensemble's input, or the member's own.
    pub input: Input,
    pub outputs: OutputKind,
    /// Its weight in `weighted-average`; `None` for a member that does not vote at first.
    pub vote_weight: Option<VoteWeight>,
    /// At which its probabilities are taken.
    pub temperature: Temperature,
}

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
