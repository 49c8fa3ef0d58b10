//! One trained network of an ensemble.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Graph, Weights};

use super::input::Input;
use super::temperature::Temperature;
use super::vote_weight::VoteWeight;

/// What the network's last layer gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outputs {
    /// Numbers that a softmax turns into probabilities.
    #[default]
    Logits,
    /// Numbers from 0 to 1 that sum to 1, a class each.
    Probabilities,
    /// Numbers that are no probabilities and are to be taken as they are.
    Values,
}

impl Outputs {
    /// Whether the manifest promises that rows are probabilities already.
    pub fn is_declared(self) -> bool {
        self == Outputs::Probabilities
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
    pub outputs: Outputs,
    /// Its weight in `weighted-average`; `None` for a member that does not vote at first.
    pub vote_weight: Option<VoteWeight>,
    /// At which its probabilities are taken.
    pub temperature: Temperature,
}
