//! Answers of a batch on their way to the requests that they belong to.

use super::panics::{RulePanicked, caught};
use super::request::LiveBatch;

/// The answers of a batch: `[samples, classes]` row after row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchOutput<'a> {
    /// The values.
    pub rows: &'a [f32],
    /// Values of a row.
    pub classes: usize,
    /// The member says that it answers probabilities, and is held to it.
    pub declared: bool,
}

impl BatchOutput<'_> {
    /// Folds the answers into the requests of `batch`.
    ///
    /// # Errors
    /// A combination rule panicked.
    pub(super) fn fold(&self, batch: &LiveBatch) -> Result<(), RulePanicked> {
        Ok(caught(|| self.fold_all(batch))?)
    }

    fn fold_all(&self, batch: &LiveBatch) {
        let (classes, member) = (self.classes, batch.member);
        let mut at = 0;
        for placed in &batch.ranges {
            let range = placed.range;
            let end = at + range.len * classes;
            let data = &placed.payload;
            let rows = &self.rows[at..end];
            if let Some(ballot) = &data.ballot {
                ballot.keep(member, &range, rows);
            }
            let (part, first) = (&data.parts[range.part], range.first);
            let sound = part.fold(data.rule.as_ref(), member, first, rows, classes);
            let kept = !self.declared || part.check_probabilities(member, first, rows, classes);
            if !sound || !kept {
                data.note_flaw();
            }
            at = end;
        }
    }
}
