//! Combination rules for independent labels: over members' probabilities, by majority vote for each
//! label, and by the mean of logits.

use std::sync::Arc;

use divisi_runtime::device::MemberIndex;

use super::answer_floats::AnswerFloats;
use super::answers::Threshold;
use super::label_reading::{LabelReading, readings};
use super::member::OutputKind;
use super::rule::{CombinationRule, Temperature, VoteWeight, add, shares};

/// A rule over the probabilities of labels, for any kind of members' outputs.
pub(super) struct LabelProbabilities {
    pub(super) width: usize,
    pub(super) readings: Vec<LabelReading>,
    pub(super) rule: Arc<dyn CombinationRule>,
}

impl CombinationRule for LabelProbabilities {
    fn state_width(&self) -> usize {
        self.rule.state_width()
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let reading = self.readings[member];
        if reading.is_plain() || !self.counts(member) {
            return self.rule.fold(member, rows, state);
        }
        let mut probabilities = vec![0.0; self.width];
        let states = state.chunks_exact_mut(self.rule.state_width());
        for (row, state) in rows.chunks_exact(self.width).zip(states) {
            for (to, value) in probabilities.iter_mut().zip(row) {
                *to = reading.probability(*value);
            }
            self.rule.fold(member, &probabilities, state);
        }
    }

    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats {
        self.rule.finish(state, width)
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.rule.counts(member)
    }
}

/// One vote per member for or against each label, by its probability. A label is given if more than
/// half of the voting members are for it.
///
/// The score is the share of votes, moved to the threshold if it would be on the wrong side of it.
/// Under every rule, the labels of an answer are those with scores of at least the threshold.
pub struct LabelMajority {
    threshold: Threshold,
    width: usize,
    voting: Vec<bool>,
}

impl LabelMajority {
    /// Creates the rule for rows of `width` probabilities of the members whose entry in `voting` is
    /// true.
    pub fn new(width: usize, threshold: Threshold, voting: &[bool]) -> Self {
        LabelMajority {
            threshold,
            width,
            voting: voting.to_vec(),
        }
    }
}

impl CombinationRule for LabelMajority {
    fn state_width(&self) -> usize {
        self.width
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        if !self.voting[member] {
            return;
        }
        for (votes, probability) in state.iter_mut().zip(rows) {
            *votes += f32::from(u8::from(self.threshold.is_met(*probability)));
        }
    }

    fn finish(&self, mut state: AnswerFloats, _width: usize) -> AnswerFloats {
        let voters = self.voting.iter().filter(|votes| **votes).count() as f32;
        let least = self.threshold.get() as f32;
        for votes in state.iter_mut() {
            let share = *votes / voters;
            *votes = match 2.0 * *votes > voters {
                true => share.max(least),
                false => share.min(least.next_down()),
            };
        }
        state
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.voting[member]
    }
}

/// The sigmoid of the mean logit of the voting members, for each label separately.
pub struct AverageLabelLogits {
    width: usize,
    readings: Vec<LabelReading>,
    /// The share of each member, or `None` for a member that does not vote.
    shares: Vec<Option<f32>>,
}

impl AverageLabelLogits {
    /// Creates the rule for members with these outputs and temperatures whose entry in `voting` is
    /// true.
    pub fn new(
        width: usize,
        outputs: &[OutputKind],
        temperatures: &[Temperature],
        voting: &[bool],
    ) -> Self {
        let even = vec![VoteWeight::default(); voting.len()];
        AverageLabelLogits {
            width,
            readings: readings(outputs, temperatures),
            shares: shares(&even, voting),
        }
    }
}

impl CombinationRule for AverageLabelLogits {
    /// A sum and its rounding error. Logits cancel, so with a plain sum the answer would depend on
    /// the order of folding.
    fn state_width(&self) -> usize {
        2 * self.width
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        let Some(share) = self.shares[member] else {
            return;
        };
        let reading = self.readings[member];
        let states = state.chunks_exact_mut(2 * self.width);
        for (row, state) in rows.chunks_exact(self.width).zip(states) {
            let (sums, lost) = state.split_at_mut(self.width);
            for ((sum, lost), value) in sums.iter_mut().zip(lost).zip(row) {
                add(sum, lost, share * reading.logit(*value));
            }
        }
    }

    fn finish(&self, state: AnswerFloats, width: usize) -> AnswerFloats {
        let mut scores = Vec::with_capacity(state.len() / 2);
        for sample in state.chunks_exact(2 * width) {
            let (sums, lost) = sample.split_at(width);
            let logits = sums.iter().zip(lost);
            let logits = logits.map(|(sum, lost)| f64::from(*sum) + f64::from(*lost));
            scores.extend(logits.map(|logit| (1.0 / (1.0 + (-logit).exp())) as f32));
        }
        scores.into()
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.shares[member].is_some()
    }
}
