//! The answer to a request.

use crate::ensemble::label_of;

use super::flaws::Flaw;

/// The answer of an ensemble to a request: scores a class for each sample, and, where they
/// were asked for, the rows of each member.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    blocks: Vec<AnswerBlock>,
    classes: usize,
    flaws: Vec<Flaw>,
}

/// Of one part of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerBlock {
    /// `[samples, classes]`.
    pub scores: Vec<f32>,
    /// `[members, samples, classes]`, where they were kept.
    pub rows: Vec<f32>,
}

impl Answer {
    pub(super) fn new(blocks: Vec<AnswerBlock>, classes: usize, flaws: Vec<Flaw>) -> Self {
        Answer {
            blocks,
            classes,
            flaws,
        }
    }

    /// Scores (`[classes]`) of each sample, in the order they were sent.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|b| b.scores.chunks_exact(self.classes))
    }

    /// Returns the answers of member number `member` to each sample, in the order they were sent;
    /// nothing where members' rows were not asked for.
    pub fn member_rows(&self, member: usize) -> impl Iterator<Item = &[f32]> {
        self.blocks.iter().flat_map(move |block| {
            let values = block.scores.len();
            let rows = block.rows.get(member * values..(member + 1) * values);
            rows.unwrap_or_default().chunks_exact(self.classes)
        })
    }

    /// The class with the highest score, of each sample; none where scores are NaN.
    pub fn labels(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows().map(label_of)
    }

    /// Rows of members that are not what they should be, by sample and member.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// Samples answered.
    pub fn len(&self) -> usize {
        let blocks = self.blocks.iter();
        blocks.map(|b| b.scores.len()).sum::<usize>() / self.classes.max(1)
    }

    /// Never for an answer to an admitted request: those have samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
