//! The mean of logits, from probabilities.

use super::combination::CombinationRule;
use super::temperature::{Temperature, log};

/// The softmax of the mean of the members' logits, over the members that vote.
///
/// A network's logits are known from its probabilities but for a number that is the same
/// for all classes, and a softmax does not see that. So this is the normalised geometric
/// mean of probabilities. What float32 holds of a probability bounds it: a class less
/// likely than 1.2e-38 counts as that likely.
pub struct AverageLogits {
    classes: usize,
    /// Of each member, what its logarithms count for; none for one that does not vote.
    shares: Vec<Option<f32>>,
}

impl AverageLogits {
    /// Of those members that are said to vote, at their temperatures.
    pub fn of(classes: usize, voting: &[bool], temperatures: &[Temperature]) -> Self {
        let voters = voting.iter().filter(|votes| **votes).count() as f64;
        let share = |t: &Temperature| (1.0 / (voters * t.get())) as f32;
        let each = voting.iter().zip(temperatures);
        AverageLogits {
            classes,
            shares: each.map(|(votes, t)| votes.then(|| share(t))).collect(),
        }
    }
}

impl CombinationRule for AverageLogits {
    /// A sum and what its rounding lost: logarithms reach 87, so a sum alone would let
    /// the order of folding be seen.
    fn state_width(&self) -> usize {
        2 * self.classes
    }

    fn fold(&self, member: usize, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        let states = state.chunks_exact_mut(2 * self.classes);
        for (row, state) in rows.chunks_exact(self.classes).zip(states) {
            let (sums, lost) = state.split_at_mut(self.classes);
            for ((sum, lost), p) in sums.iter_mut().zip(lost).zip(row) {
                add(sum, lost, share * log(*p));
            }
        }
    }

    fn finish(&self, state: Vec<f32>, classes: usize) -> Vec<f32> {
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * classes) {
            let (sums, lost) = sample.split_at(classes);
            let logit = |class: usize| f64::from(sums[class]) + f64::from(lost[class]);
            let most = (0..classes).map(logit).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = (0..classes).map(|c| (logit(c) - most).exp()).sum();
            scores.extend((0..classes).map(|c| ((logit(c) - most).exp() / total) as f32));
        }
        scores
    }

    fn counts(&self, member: usize) -> bool {
        self.shares[member].is_some()
    }
}

/// Adds `value` to `sum`, and to `lost` what rounding takes from that (Knuth's two-sum).
fn add(sum: &mut f32, lost: &mut f32, value: f32) {
    let old = *sum;
    let new = old + value;
    let taken = new - old;
    *lost += (old - (new - taken)) + (value - taken);
    *sum = new;
}
