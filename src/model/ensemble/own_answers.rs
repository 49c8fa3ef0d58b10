//! The rows of members as separate answers.

use std::borrow::Cow;
use std::sync::Arc;

use divisi_runtime::device::MemberIndex;

use super::answers::AnswerKind;
use super::member::OutputKind;
use super::rule::{CombinationRule, Temperature, VoteWeight};
use super::rule_kind::{MemberParts, RuleKind};

/// The answers that members would return alone: their rows of class scores or values, and for other
/// answers the result of the usual rule over their rows alone.
#[derive(Clone)]
pub struct OwnAnswers {
    width: usize,
    /// The rule for each member alone; empty if rows are already answers.
    rules: Vec<Arc<dyn CombinationRule>>,
}

impl OwnAnswers {
    /// Creates the converter for members with these outputs and temperatures.
    pub fn new(answers: AnswerKind, outputs: &[OutputKind], temperatures: &[Temperature]) -> Self {
        let are_answers = matches!(
            answers,
            AnswerKind::Classes { .. } | AnswerKind::Values { .. }
        );
        let rule = |member| alone(answers, outputs, temperatures, member);
        let members = MemberIndex::all(outputs.len()).filter(|_| !are_answers);
        OwnAnswers {
            width: answers.width(),
            rules: members.map(rule).collect(),
        }
    }

    /// Returns the answer that `member` would return alone for its row. It is NaN if a number of
    /// the row is NaN or infinite.
    pub fn answer<'a>(&self, member: MemberIndex, row: &'a [f32]) -> Cow<'a, [f32]> {
        let Some(rule) = self.rules.get(member.get()) else {
            return Cow::Borrowed(row);
        };
        if row.iter().any(|number| !number.is_finite()) {
            return Cow::Owned(vec![f32::NAN; self.width]);
        }
        let mut state = vec![0.0; rule.state_width()];
        rule.fold(member, row, &mut state);
        Cow::Owned(rule.finish(state.into(), self.width).into_vec())
    }
}

/// Returns the usual rule for a kind of answers with one voting member.
fn alone(
    answers: AnswerKind,
    outputs: &[OutputKind],
    temperatures: &[Temperature],
    member: MemberIndex,
) -> Arc<dyn CombinationRule> {
    let voting: Vec<bool> = MemberIndex::all(outputs.len())
        .map(|other| other == member)
        .collect();
    let members = MemberParts {
        weights: &vec![VoteWeight::default(); outputs.len()],
        voting: &voting,
        temperatures,
        outputs,
    };
    RuleKind::usual(answers).build_from(answers, members)
}
