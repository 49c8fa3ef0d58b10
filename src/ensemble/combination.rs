//! Combination rules: incremental, in any order, each in one place.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::logits::AverageLogits;
use super::majority::MajorityVote;
use super::temperature::Temperature;
use super::vote_weight::VoteWeight;

/// Folds members' probabilities into an ensemble's answer, rows in any order.
///
/// The state of one sample is [`CombinationRule::state_width`] floats, zero at
/// first; an answer is a row of scores, one a class.
pub trait CombinationRule: Send + Sync {
    /// Floats of state a sample.
    fn state_width(&self) -> usize;

    /// Folds `rows` (`[n, classes]` probabilities of `member`) into `state`
    /// (`[n, state_width]`).
    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]);

    /// Makes scores (`[n, classes]`) of the state (`[n, state_width]`) of samples that
    /// every member was folded into.
    fn finish(&self, state: Vec<f32>, classes: usize) -> Vec<f32>;

    /// Whether a member's rows count. Those of one that does not are not to be folded.
    fn counts(&self, _member: usize) -> bool {
        true
    }
}

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

/// Mean or weighted mean of probabilities, over the members that vote.
pub struct Average {
    classes: usize,
    /// Of each member; none for one that does not vote.
    shares: Vec<Option<f32>>,
}

impl Average {
    /// Weights of those that vote are normalised to a sum of one.
    pub fn of(classes: usize, weights: &[VoteWeight], voting: &[bool]) -> Self {
        let cast = weights
            .iter()
            .zip(voting)
            .map(|(w, votes)| votes.then_some(w.get()));
        let cast: Vec<Option<f64>> = cast.collect();
        let total: f64 = cast.iter().flatten().sum();
        let share = |w: Option<f64>| w.map(|w| (w / total) as f32);
        Average {
            classes,
            shares: cast.into_iter().map(share).collect(),
        }
    }
}

impl CombinationRule for Average {
    fn state_width(&self) -> usize {
        self.classes
    }

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        for (sum, p) in state.iter_mut().zip(rows) {
            *sum += share * p;
        }
    }

    fn finish(&self, state: Vec<f32>, _classes: usize) -> Vec<f32> {
        state
    }

    fn counts(&self, member: usize) -> bool {
        self.shares[member].is_some()
    }
}

/// A rule over members' probabilities at temperatures of their own.
pub(super) struct Tempered {
    classes: usize,
    temperatures: Vec<Temperature>,
    rule: Arc<dyn CombinationRule>,
}

impl CombinationRule for Tempered {
    fn state_width(&self) -> usize {
        self.rule.state_width()
    }

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
        let temperature = self.temperatures[member];
        if temperature.is_one() || !self.counts(member) {
            return self.rule.fold(member, rows, state);
        }
        let mut rows = rows.to_vec();
        temperature.apply(&mut rows, self.classes);
        self.rule.fold(member, &rows, state);
    }

    fn finish(&self, state: Vec<f32>, classes: usize) -> Vec<f32> {
        self.rule.finish(state, classes)
    }

    fn counts(&self, member: usize) -> bool {
        self.rule.counts(member)
    }
}

/// The class with the highest score, the lowest of equals; none where any score is NaN or
/// infinite, since then nothing is known of the highest.
pub fn label_of(scores: &[f32]) -> Option<usize> {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if !score.is_finite() {
            return None;
        }
        if *score > scores[best] {
            best = class;
        }
    }
    (!scores.is_empty()).then_some(best)
}
