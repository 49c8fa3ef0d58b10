//! One trained network of an ensemble.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Graph, Weights};

/// What the network's last layer gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outputs {
    /// Numbers that a softmax turns into probabilities.
    #[default]
    Logits,
    Probabilities,
}

/// A member: its network, weights, and its say in the vote.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub graph: Arc<Graph>,
    pub weights: Arc<Weights>,
    pub outputs: Outputs,
    /// Share in `weighted-average` before normalisation.
    pub vote_weight: f64,
}
