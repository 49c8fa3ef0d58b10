//! One trained network of an ensemble, and its weight in the vote.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Graph, Weights};
use crate::ranged::{OutOfRange, ranged};

use super::input::Input;
use super::logits::Temperature;

/// The kind of numbers that a network's last layer returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// Numbers that a softmax turns into probabilities.
    #[default]
    Logits,
    /// Numbers from 0 to 1 that sum to 1, one a class.
    Probabilities,
    /// Numbers that are no probabilities and are taken as they are.
    Values,
}

impl OutputKind {
    /// Whether the manifest promises that rows are probabilities already.
    pub fn is_declared(self) -> bool {
        self == OutputKind::Probabilities
    }
}

/// A member of an ensemble: its network, weights and part in the vote.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name, unique in the ensemble.
    pub name: String,
    /// Its network.
    pub graph: Arc<Graph>,
    /// The network's weights.
    pub weights: Arc<Weights>,
    /// The network's input: the ensemble's, or the member's own.
    pub input: Input,
    /// The kind of numbers that the network returns.
    pub outputs: OutputKind,
    /// Its weight in `weighted-average`; `None` for a member that does not vote at first.
    pub vote_weight: Option<VoteWeight>,
    /// The temperature at which its probabilities are taken.
    pub temperature: Temperature,
}

ranged! {
    /// A member's weight in `weighted-average`.
    ///
    /// No weight is 0: in files and dialogs a 0 stands for a member that does not vote,
    /// under any rule ([`VoteWeight::written`]). Within these bounds the sum of an
    /// ensemble's weights is finite and above 0, and no share of it vanishes in float32.
    VoteWeight(f64) = 1e-6, 1e6, "a number from {} to {}"
}

impl VoteWeight {
    /// Takes a number as people write it. Returns `None` for 0, a member that does not
    /// vote.
    ///
    /// # Errors
    /// The number is neither a weight nor 0.
    pub fn written(weight: f64) -> Result<Option<Self>, OutOfRange> {
        if weight == 0.0 {
            return Ok(None);
        }
        let weight = Self::new(weight).map_err(|why| OutOfRange {
            range: format!("{}, or 0 for a member that does not vote", why.range),
            ..why
        });
        weight.map(Some)
    }
}

impl Default for VoteWeight {
    fn default() -> Self {
        VoteWeight(1.0)
    }
}

impl fmt::Display for VoteWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
