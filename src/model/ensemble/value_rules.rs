//! Combination rules for values: the weighted mean, the median, and unit length.

use std::sync::Arc;

use divisi_runtime::device::MemberIndex;

use super::answer_floats::AnswerFloats;
use super::rule::{CombinationRule, VoteWeight, add, shares};

/// The mean or weighted mean of values over the voting members.
///
/// Values may cancel, so a sum and its rounding error are kept. With a plain sum the answer would
/// depend on the order of folding.
pub struct ValueMean {
    width: usize,
    /// The share of each member, or `None` for a member that does not vote.
    shares: Vec<Option<f32>>,
}

impl ValueMean {
    /// Creates the rule for rows of `width` values of the members whose entry in `voting` is true.
    /// Normalises their weights to a sum of one.
    pub fn new(width: usize, weights: &[VoteWeight], voting: &[bool]) -> Self {
        ValueMean {
            width,
            shares: shares(weights, voting),
        }
    }
}

impl CombinationRule for ValueMean {
    fn state_width(&self) -> usize {
        2 * self.width
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        let states = state.chunks_exact_mut(2 * self.width);
        for (row, state) in rows.chunks_exact(self.width).zip(states) {
            let (sums, lost) = state.split_at_mut(self.width);
            for ((sum, lost), value) in sums.iter_mut().zip(lost).zip(row) {
                add(sum, lost, share * value);
            }
        }
    }

    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats {
        let mut values = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * width) {
            let (sums, lost) = sample.split_at(width);
            values.extend(sums.iter().zip(lost).map(|(sum, lost)| sum + lost));
        }
        values.into()
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.shares[member].is_some()
    }
}

/// The median over the voting members, for each value separately. For an even number of members it
/// is the mean of the middle two.
///
/// A single outlier does not move it.
pub struct Median {
    width: usize,
    /// The position of each member among the voting members.
    places: Vec<Option<usize>>,
    voters: usize,
}

impl Median {
    /// Creates the rule for rows of `width` values of the members whose entry in `voting` is
    /// true.
    pub fn new(width: usize, voting: &[bool]) -> Self {
        let mut voters = 0;
        let place = |votes: &bool| {
            voters += usize::from(*votes);
            votes.then(|| voters - 1)
        };
        Median {
            width,
            places: voting.iter().map(place).collect(),
            voters: voters.max(1),
        }
    }
}

impl CombinationRule for Median {
    /// The values of every voting member.
    fn state_width(&self) -> usize {
        self.voters * self.width
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let Some(place) = self.places[member] else {
            return;
        };
        let kept = state.chunks_exact_mut(self.voters);
        for (kept, value) in kept.zip(rows) {
            kept[place] = *value;
        }
    }

    fn finish(&self, mut state: AnswerFloats, _width: usize) -> AnswerFloats {
        let each = state.chunks_exact_mut(self.voters);
        each.map(middle).collect::<Vec<f32>>().into()
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.places[member].is_some()
    }
}

/// Returns the median of values. Sorts the values.
fn middle(values: &mut [f32]) -> f32 {
    values.sort_unstable_by(f32::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        1 => values[half],
        // Halved first, because the sum of two values might overflow.
        _ => 0.5 * values[half - 1] + 0.5 * values[half],
    }
}

/// A rule whose answers are scaled to unit length. An answer of length 0 has no direction and stays
/// unchanged.
pub(super) struct UnitLength(pub(super) Arc<dyn CombinationRule>);

impl CombinationRule for UnitLength {
    fn state_width(&self) -> usize {
        self.0.state_width()
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        self.0.fold(member, rows, state);
    }

    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats {
        let mut rows = self.0.finish(state, width);
        for row in rows.chunks_exact_mut(width) {
            let square: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
            if square > 0.0 {
                let length = square.sqrt();
                let scaled = |v: f32| (f64::from(v) / length) as f32;
                row.iter_mut().for_each(|v| *v = scaled(*v));
            }
        }
        rows
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.0.counts(member)
    }
}
