//! How members are combined, as a value that can change while serving.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::combination::{CombinationRule, RuleKind};

/// A rule, a weight for each member, and who is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    pub rule: RuleKind,
    /// One a member, above zero; only `weighted-average` asks for them.
    pub weights: Vec<f64>,
    /// Whether each member's answers count. One that does not vote still runs.
    pub voting: Vec<bool>,
}

impl Combination {
    /// Everybody votes.
    pub fn new(rule: RuleKind, weights: Vec<f64>) -> Self {
        Combination {
            voting: vec![true; weights.len()],
            rule,
            weights,
        }
    }

    /// Whether an ensemble of `members` could answer by it.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self, members: usize) -> Result<(), String> {
        if self.weights.len() != members || self.voting.len() != members {
            return Err(format!(
                "expected a weight and a vote for {members} members"
            ));
        }
        if let Some(wrong) = self.weights.iter().find(|w| !w.is_finite() || **w <= 0.0) {
            return Err(format!("weights: expected numbers above 0, found {wrong}"));
        }
        match self.voting.contains(&true) {
            true => Ok(()),
            false => Err("voting: expected at least one member that votes".into()),
        }
    }

    /// The rule, ready to fold rows of `classes` probabilities.
    pub fn build(&self, classes: usize) -> Arc<dyn CombinationRule> {
        // Who is left out comes with the engine's support for it.
        self.rule.build(classes, self.weights.iter().copied())
    }
}
