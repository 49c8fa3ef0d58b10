//! Combination rules for classes at each position of a sample.

use std::sync::Arc;

use divisi_runtime::device::MemberIndex;

use super::answer_floats::AnswerFloats;
use super::member::OutputKind;
use super::positions::{BLOCK, PositionRows};
use super::rule::CombinationRule;

/// A rule for classes, applied to each position separately.
pub(super) struct AtPositions {
    pub(super) positions: PositionRows,
    /// The kind of numbers that each member returns.
    pub(super) outputs: Vec<OutputKind>,
    /// The rule for the classes of one position.
    pub(super) rule: Arc<dyn CombinationRule>,
}

impl CombinationRule for AtPositions {
    fn state_width(&self) -> usize {
        self.positions.count() * self.rule.state_width()
    }

    fn fold(&self, member: MemberIndex, rows: &[f32], state: &mut [f32]) {
        if !self.counts(member) {
            return;
        }
        let (positions, of_one) = (self.positions, self.rule.state_width());
        let are_logits = self.outputs[member] == OutputKind::PositionLogits;
        let mut block = Vec::with_capacity(BLOCK * positions.scores());
        let states = state.chunks_exact_mut(self.state_width());
        for (row, state) in rows.chunks_exact(positions.width()).zip(states) {
            for (first, state) in (0..).step_by(BLOCK).zip(state.chunks_mut(BLOCK * of_one)) {
                positions.gather(row, first..first + state.len() / of_one, &mut block);
                if are_logits {
                    block.chunks_exact_mut(positions.scores()).for_each(softmax);
                }
                self.rule.fold(member, &block, state);
            }
        }
    }

    fn finish(&self, state: AnswerFloats, _width: usize) -> AnswerFloats {
        let rows = self.rule.finish(state, self.positions.scores());
        self.positions.scatter(rows)
    }

    fn counts(&self, member: MemberIndex) -> bool {
        self.rule.counts(member)
    }
}

/// Turns logits into probabilities.
fn softmax(scores: &mut [f32]) {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - most).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}
