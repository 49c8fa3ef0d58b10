//! How members are combined, as a value that can change while serving.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::combination::{CombinationRule, RuleKind};
use super::vote_weight::VoteWeight;

/// A rule, a weight for each member, and who is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    pub rule: RuleKind,
    /// One a member; only `weighted-average` asks for them.
    pub weights: Vec<VoteWeight>,
    /// Whether each member's answers count. One that does not vote still runs.
    pub voting: Vec<bool>,
}

impl Combination {
    /// Everybody votes.
    pub fn new(rule: RuleKind, weights: Vec<VoteWeight>) -> Self {
        Combination {
            voting: vec![true; weights.len()],
            rule,
            weights,
        }
    }

    /// `members` that all vote and weigh the same.
    pub fn even(rule: RuleKind, members: usize) -> Self {
        Combination::new(rule, vec![VoteWeight::default(); members])
    }

    /// Weights as people write them: a member of weight 0 does not vote, and has weight 1
    /// once it is told to.
    ///
    /// # Errors
    /// Which number is no weight; [`Combination::check`] says the rest.
    pub fn written(rule: RuleKind, weights: &[f64], mut voting: Vec<bool>) -> Result<Self, String> {
        let written = weights.iter().map(|w| VoteWeight::written(*w));
        let written: Vec<Option<VoteWeight>> = written
            .collect::<Result<_, _>>()
            .map_err(|e| format!("weights: {e}"))?;
        for (votes, weight) in voting.iter_mut().zip(&written) {
            *votes &= weight.is_some();
        }
        Ok(Combination {
            rule,
            weights: written.into_iter().map(Option::unwrap_or_default).collect(),
            voting,
        })
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
        match self.voting.contains(&true) {
            true => Ok(()),
            false => Err("voting: expected at least one member that votes".into()),
        }
    }

    /// The rule, ready to fold rows of `classes` probabilities.
    pub fn build(&self, classes: usize) -> Arc<dyn CombinationRule> {
        self.rule.build_for(classes, &self.weights, &self.voting)
    }

    /// The same with a member that votes, or does not.
    ///
    /// # Errors
    /// There is no such member, or nobody would vote any more.
    pub fn with_vote(&self, member: usize, votes: bool) -> Result<Self, String> {
        let mut new = self.clone();
        let members = new.voting.len();
        let Some(vote) = new.voting.get_mut(member) else {
            return Err(format!(
                "expected a member from 0 to {}, found {member}",
                members.saturating_sub(1)
            ));
        };
        *vote = votes;
        new.check(members)?;
        Ok(new)
    }

    /// What differs in `new`, in words: `combination: average → majority-vote`,
    /// `mlp no longer votes`.
    pub fn changes(&self, new: &Combination, names: &[String]) -> Vec<String> {
        let mut said = Vec::new();
        if self.rule != new.rule {
            said.push(format!(
                "combination: {} → {}",
                self.rule.name(),
                new.rule.name()
            ));
        }
        for (member, name) in names.iter().enumerate() {
            let (old, now) = (self.weights[member], new.weights[member]);
            if old != now {
                said.push(format!("weight of {name}: {old} → {now}"));
            }
            match (self.voting[member], new.voting[member]) {
                (true, false) => said.push(format!("{name} no longer votes")),
                (false, true) => said.push(format!("{name} votes again")),
                _ => {}
            }
        }
        said
    }
}
