//! Combination rules: incremental, in any order, each in one place.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
}

impl RuleKind {
    /// Every rule.
    pub const ALL: [RuleKind; 3] = [
        RuleKind::Average,
        RuleKind::WeightedAverage,
        RuleKind::MajorityVote,
    ];

    /// Its name in manifests and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            RuleKind::Average => "average",
            RuleKind::WeightedAverage => "weighted-average",
            RuleKind::MajorityVote => "majority-vote",
        }
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
        let even = vec![VoteWeight::default(); voting.len()];
        match self {
            RuleKind::Average => Arc::new(Average::of(classes, &even, voting)),
            RuleKind::WeightedAverage => Arc::new(Average::of(classes, weights, voting)),
            RuleKind::MajorityVote => Arc::new(MajorityVote::of(classes, voting)),
        }
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

/// One vote a member for its likeliest class.
///
/// A score is the share of votes. Of classes with equally many, the one with the
/// largest summed probability wins, then the lowest; the winner's score is the next
/// float above, so that it is the only highest. A row with a NaN makes the answer NaN.
pub struct MajorityVote {
    classes: usize,
    voting: Vec<bool>,
    voters: usize,
}

impl MajorityVote {
    /// Of those members that are said to vote.
    pub fn of(classes: usize, voting: &[bool]) -> Self {
        MajorityVote {
            classes,
            voting: voting.to_vec(),
            voters: voting.iter().filter(|votes| **votes).count(),
        }
    }
}

impl CombinationRule for MajorityVote {
    fn state_width(&self) -> usize {
        2 * self.classes
    }

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
        if !self.voting[member] {
            return;
        }
        let states = state.chunks_exact_mut(2 * self.classes);
        for (row, state) in rows.chunks_exact(self.classes).zip(states) {
            let (votes, sums) = state.split_at_mut(self.classes);
            if row.iter().any(|p| p.is_nan()) {
                votes.fill(f32::NAN);
            }
            votes[label_of(row)] += 1.0;
            for (sum, p) in sums.iter_mut().zip(row) {
                *sum += p;
            }
        }
    }

    fn finish(&self, state: Vec<f32>, classes: usize) -> Vec<f32> {
        let voters = self.voters as f32;
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (votes, sums) = sample.split_at(classes);
            let first = scores.len();
            scores.extend(votes.iter().map(|v| v / voters));
            let winner = &mut scores[first + winner(votes, sums)];
            *winner = winner.next_up();
        }
        scores
    }

    fn counts(&self, member: usize) -> bool {
        self.voting[member]
    }
}

/// Most votes, then the largest sum, then the lowest class.
fn winner(votes: &[f32], sums: &[f32]) -> usize {
    let mut best = 0;
    for class in 1..votes.len() {
        if (votes[class], sums[class]) > (votes[best], sums[best]) {
            best = class;
        }
    }
    best
}

/// The class with the highest score, the lowest of equals.
pub fn label_of(scores: &[f32]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}
