//! Combination rules: incremental, in any order, each in one place.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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

    /// The rule for members with these vote weights.
    pub fn build(
        self,
        classes: usize,
        vote_weights: impl ExactSizeIterator<Item = f64>,
    ) -> Arc<dyn CombinationRule> {
        let members = vote_weights.len();
        match self {
            RuleKind::Average => Arc::new(Average::even(classes, members)),
            RuleKind::WeightedAverage => Arc::new(Average::weighted(classes, vote_weights)),
            RuleKind::MajorityVote => Arc::new(MajorityVote { classes, members }),
        }
    }
}

/// Mean or weighted mean of probabilities.
pub struct Average {
    classes: usize,
    shares: Vec<f32>,
}

impl Average {
    /// Every member counts the same.
    pub fn even(classes: usize, members: usize) -> Self {
        Average {
            classes,
            shares: vec![1.0 / members as f32; members],
        }
    }

    /// Weights are normalised to a sum of one.
    pub fn weighted(classes: usize, weights: impl Iterator<Item = f64>) -> Self {
        let weights: Vec<f64> = weights.collect();
        let total: f64 = weights.iter().sum();
        Average {
            classes,
            shares: weights.iter().map(|w| (w / total) as f32).collect(),
        }
    }
}

impl CombinationRule for Average {
    fn state_width(&self) -> usize {
        self.classes
    }

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
        let share = self.shares[member];
        for (sum, p) in state.iter_mut().zip(rows) {
            *sum += share * p;
        }
    }

    fn finish(&self, state: Vec<f32>, _classes: usize) -> Vec<f32> {
        state
    }
}

/// One vote a member for its likeliest class.
///
/// A score is the share of votes. Of classes with equally many, the one with the
/// largest summed probability wins, then the lowest; the winner's score is the next
/// float above, so that it is the only highest. A row with a NaN makes the answer NaN.
pub struct MajorityVote {
    classes: usize,
    members: usize,
}

impl CombinationRule for MajorityVote {
    fn state_width(&self) -> usize {
        2 * self.classes
    }

    fn fold(&self, _member: usize, rows: &[f32], state: &mut [f32]) {
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
        let members = self.members as f32;
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (votes, sums) = sample.split_at(classes);
            let first = scores.len();
            scores.extend(votes.iter().map(|v| v / members));
            let winner = &mut scores[first + winner(votes, sums)];
            *winner = winner.next_up();
        }
        scores
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
