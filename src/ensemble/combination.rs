//! How members are combined, as a value that can change while serving.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::logits::{AverageLogits, Temperature, Tempered};
use super::member::{OutputKind, VoteWeight};
use super::rule::{Average, CombinationRule, MajorityVote};

/// The rules a manifest can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleKind {
    #[default]
    Average,
    WeightedAverage,
    MajorityVote,
    AverageLogits,
}

impl RuleKind {
    /// Every rule.
    pub const ALL: [RuleKind; 4] = [
        RuleKind::Average,
        RuleKind::WeightedAverage,
        RuleKind::MajorityVote,
        RuleKind::AverageLogits,
    ];

    /// Its name in manifests and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            RuleKind::Average => "average",
            RuleKind::WeightedAverage => "weighted-average",
            RuleKind::MajorityVote => "majority-vote",
            RuleKind::AverageLogits => "average-logits",
        }
    }

    /// Whether it means something for rows that are no probabilities.
    pub fn takes_values(self) -> bool {
        self != RuleKind::AverageLogits
    }

    /// The rule for members with these vote weights, all of whom vote.
    pub fn build(
        self,
        classes: usize,
        vote_weights: impl ExactSizeIterator<Item = VoteWeight>,
    ) -> Arc<dyn CombinationRule> {
        let weights: Vec<VoteWeight> = vote_weights.collect();
        let voting = vec![true; weights.len()];
        self.build_for(classes, &weights, &voting)
    }

    /// The rule for members with these vote weights, of whom those vote that are said to.
    pub fn build_for(
        self,
        classes: usize,
        weights: &[VoteWeight],
        voting: &[bool],
    ) -> Arc<dyn CombinationRule> {
        self.build_at(
            classes,
            weights,
            voting,
            &vec![Temperature::ONE; voting.len()],
        )
    }

    /// The same, each member at its temperature.
    pub fn build_at(
        self,
        classes: usize,
        weights: &[VoteWeight],
        voting: &[bool],
        temperatures: &[Temperature],
    ) -> Arc<dyn CombinationRule> {
        let even = vec![VoteWeight::default(); voting.len()];
        let rule: Arc<dyn CombinationRule> = match self {
            RuleKind::Average => Arc::new(Average::of(classes, &even, voting)),
            RuleKind::WeightedAverage => Arc::new(Average::of(classes, weights, voting)),
            RuleKind::MajorityVote => Arc::new(MajorityVote::of(classes, voting)),
            RuleKind::AverageLogits => {
                return Arc::new(AverageLogits::of(classes, voting, temperatures));
            }
        };
        if temperatures.iter().all(|t| t.is_one()) {
            return rule;
        }
        Arc::new(Tempered {
            classes,
            temperatures: temperatures.to_vec(),
            rule,
        })
    }
}

/// A rule, a weight for each member, and who is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    pub rule: RuleKind,
    /// One a member; only `weighted-average` asks for them.
    pub weights: Vec<VoteWeight>,
    /// Whether each member's answers count. One that does not vote still runs.
    pub voting: Vec<bool>,
    /// One a member, at which its probabilities are taken.
    pub temperatures: Vec<Temperature>,
}

impl Combination {
    /// Everybody votes, with probabilities as they are.
    pub fn new(rule: RuleKind, weights: Vec<VoteWeight>) -> Self {
        Combination {
            voting: vec![true; weights.len()],
            temperatures: vec![Temperature::ONE; weights.len()],
            rule,
            weights,
        }
    }

    /// The same with each member at a temperature.
    #[must_use]
    pub fn at(self, temperatures: Vec<Temperature>) -> Self {
        Combination {
            temperatures,
            ..self
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
            temperatures: vec![Temperature::ONE; voting.len()],
            voting,
        })
    }

    /// Whether an ensemble of `members` could answer by it.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self, members: usize) -> Result<(), String> {
        let lengths = [
            self.weights.len(),
            self.voting.len(),
            self.temperatures.len(),
        ];
        if lengths != [members; 3] {
            return Err(format!(
                "expected a weight, a vote and a temperature for {members} members"
            ));
        }
        match self.voting.contains(&true) {
            true => Ok(()),
            false => Err("voting: expected at least one member that votes".into()),
        }
    }

    /// The rule, ready to fold rows of `classes` probabilities.
    pub fn build(&self, classes: usize) -> Arc<dyn CombinationRule> {
        let (weights, voting) = (&self.weights, &self.voting);
        self.rule
            .build_at(classes, weights, voting, &self.temperatures)
    }

    /// Whether it means something for members that give `outputs`.
    ///
    /// # Errors
    /// Which of `names` gives values where probabilities are needed.
    pub fn check_outputs(&self, outputs: &[OutputKind], names: &[String]) -> Result<(), String> {
        for (member, outputs) in outputs.iter().enumerate() {
            if *outputs != OutputKind::Values {
                continue;
            }
            let name = &names[member];
            if self.voting[member] && !self.rule.takes_values() {
                let rule = self.rule.name();
                return Err(format!(
                    "rule: `{rule}` needs probabilities of every member, and `{name}` gives values"
                ));
            }
            if !self.temperatures[member].is_one() {
                return Err(format!(
                    "temperature of `{name}`: it gives values, and only probabilities have one"
                ));
            }
        }
        Ok(())
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
