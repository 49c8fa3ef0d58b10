//! The combination of members, which can change while serving.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ranged::OutOfRange;
use divisi_runtime::device::MemberIndex;

use super::answers::AnswerKind;
use super::member::OutputKind;
use super::rule::{CombinationRule, Temperature, VoteWeight};
use super::rule_kind::{MemberParts, RuleKind};

/// The reason why a combination is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CombinationError {
    /// A weight is out of range.
    #[error("weights: {0}")]
    Weight(OutOfRange),
    /// The number of weights, votes or temperatures differs from the number of members.
    #[error("expected a weight, a vote and a temperature for each of {members} members")]
    Length {
        /// The number of members of the ensemble.
        members: usize,
    },
    /// No member votes.
    #[error("voting: expected at least one member that votes")]
    NobodyVotes,
    /// The rule does not support the ensemble's kind of answers.
    #[error(
        "rule: `{rule}` does not combine {answers}; expected {expected}",
        rule = .rule.name(), expected = listed(.suited)
    )]
    RuleOfAnswers {
        /// The rule.
        rule: RuleKind,
        /// The name of the kind of answers.
        answers: &'static str,
        /// The supported rules.
        suited: &'static [RuleKind],
    },
    /// The rule needs probabilities, but a voting member returns values.
    #[error("rule: `{rule}` needs probabilities from every member, but `{member}` returns values", rule = .rule.name())]
    RuleOfValues {
        /// The rule.
        rule: RuleKind,
        /// The member's name.
        member: String,
    },
    /// A member that returns values has a temperature other than 1.
    #[error("temperature of `{member}`: expected none, since the member returns values")]
    TemperatureOfValues {
        /// The member's name.
        member: String,
    },
    /// There is no such member.
    #[error("expected a member from 0 to {last}, found {found}")]
    NoMember {
        /// The highest member number.
        last: MemberIndex,
        /// The requested number.
        found: MemberIndex,
    },
}

/// Formats the names of rules: `average`, `weighted-average` or `median`.
fn listed(rules: &[RuleKind]) -> String {
    let names: Vec<String> = rules.iter().map(|r| format!("`{}`", r.name())).collect();
    match names.split_last() {
        Some((last, others @ [_, ..])) => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// A rule, with the weight, vote and temperature of each member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    /// The rule.
    pub rule: RuleKind,
    /// The members' weights, which only `weighted-average` uses.
    pub weights: Vec<VoteWeight>,
    /// Whether each member votes. A member that does not still runs.
    pub voting: Vec<bool>,
    /// The temperatures of the members' probabilities.
    pub temperatures: Vec<Temperature>,
}

impl Combination {
    /// Creates a combination in which every member votes, at temperature 1.
    pub fn new(rule: RuleKind, weights: Vec<VoteWeight>) -> Self {
        Combination {
            voting: vec![true; weights.len()],
            temperatures: vec![Temperature::ONE; weights.len()],
            rule,
            weights,
        }
    }

    /// Returns the combination with these temperatures.
    #[must_use]
    pub fn with_temperatures(self, temperatures: Vec<Temperature>) -> Self {
        Combination {
            temperatures,
            ..self
        }
    }

    /// Creates a combination of `members` that all vote with the same weight.
    pub fn equal_weights(rule: RuleKind, members: usize) -> Self {
        Combination::new(rule, vec![VoteWeight::default(); members])
    }

    /// Creates a combination from weights as users write them. A member of weight 0 does not vote,
    /// and has weight 1 once it votes.
    ///
    /// # Errors
    /// A weight is out of range. [`Combination::check`] checks the lengths.
    pub fn from_written(
        rule: RuleKind,
        weights: &[f64],
        mut voting: Vec<bool>,
    ) -> Result<Self, CombinationError> {
        let written = weights.iter().map(|w| VoteWeight::written(*w));
        let written: Vec<Option<VoteWeight>> = written
            .collect::<Result<_, _>>()
            .map_err(CombinationError::Weight)?;
        for (votes, weight) in voting.iter_mut().zip(&written) {
            *votes &= weight.is_some();
        }
        Ok(Combination {
            rule,
            weights: written.into_iter().map(Option::unwrap_or_default).collect(),
            temperatures: vec![Temperature::ONE; voting.len()],
            voting,
        })
    }

    /// Checks the combination for an ensemble of `members` members.
    ///
    /// # Errors
    /// Its parts have another length, or no member votes although there are members.
    pub fn check(&self, members: usize) -> Result<(), CombinationError> {
        let lengths = [
            self.weights.len(),
            self.voting.len(),
            self.temperatures.len(),
        ];
        if lengths != [members; 3] {
            return Err(CombinationError::Length { members });
        }
        match self.voting.contains(&true) || members == 0 {
            true => Ok(()),
            false => Err(CombinationError::NobodyVotes),
        }
    }

    /// Builds the rule for an ensemble with these answers and members' outputs.
    pub fn build_for(
        &self,
        answers: AnswerKind,
        outputs: &[OutputKind],
    ) -> Arc<dyn CombinationRule> {
        let members = MemberParts {
            weights: &self.weights,
            voting: &self.voting,
            temperatures: &self.temperatures,
            outputs,
        };
        self.rule.build_from(answers, members)
    }

    /// Builds the rule for rows of `classes` probabilities.
    pub fn build(&self, classes: usize) -> Arc<dyn CombinationRule> {
        let (weights, voting) = (&self.weights, &self.voting);
        self.rule
            .build_at(classes, weights, voting, &self.temperatures)
    }

    /// Checks that the rule can combine the `outputs` of the members `names` into these answers.
    ///
    /// # Errors
    /// The rule does not support the answers, or a member returns values but probabilities are
    /// needed.
    pub fn check_outputs(
        &self,
        answers: AnswerKind,
        outputs: &[OutputKind],
        names: &[String],
    ) -> Result<(), CombinationError> {
        let suited = RuleKind::suited(answers);
        if !suited.contains(&self.rule) {
            return Err(CombinationError::RuleOfAnswers {
                rule: self.rule,
                answers: answers.name(),
                suited,
            });
        }
        for (member, outputs) in MemberIndex::enumerate(outputs) {
            if outputs.has_temperature() {
                continue;
            }
            let name = || names[member].clone();
            if self.voting[member] && !self.rule.takes_values() {
                let (rule, member) = (self.rule, name());
                return Err(CombinationError::RuleOfValues { rule, member });
            }
            if !self.temperatures[member].is_one() {
                return Err(CombinationError::TemperatureOfValues { member: name() });
            }
        }
        Ok(())
    }

    /// Returns the combination with the vote of one member changed.
    ///
    /// # Errors
    /// There is no such member, or no member would vote.
    pub fn with_vote(&self, member: MemberIndex, votes: bool) -> Result<Self, CombinationError> {
        let mut new = self.clone();
        let members = new.voting.len();
        let Some(vote) = new.voting.get_mut(member.get()) else {
            return Err(CombinationError::NoMember {
                last: MemberIndex::new(members.saturating_sub(1)),
                found: member,
            });
        };
        *vote = votes;
        new.check(members)?;
        Ok(new)
    }

    /// Returns the differences of `new` as text: `combination: average → majority-vote`, `mlp no
    /// longer votes`.
    pub fn changes(&self, new: &Combination, names: &[String]) -> Vec<String> {
        let mut said = Vec::new();
        if self.rule != new.rule {
            said.push(format!(
                "combination: {} → {}",
                self.rule.name(),
                new.rule.name()
            ));
        }
        for (member, name) in MemberIndex::enumerate(names) {
            let (old, now) = (self.weights[member], new.weights[member]);
            if old != now {
                said.push(format!("weight of {name}: {old} → {now}"));
            }
            let (old, now) = (self.temperatures[member], new.temperatures[member]);
            if old != now {
                let (old, now) = (old.get(), now.get());
                said.push(format!("temperature of {name}: {old} → {now}"));
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
