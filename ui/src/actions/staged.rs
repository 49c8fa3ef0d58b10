//! The changes staged by lines, on top of the running settings.

use divisi_model::allocation::{Cell, InvalidMatrix, Matrix};
use divisi_model::ensemble::{BatchSize, MemberPrecision};
use divisi_runtime::device::MemberIndex;
use divisi_session::Setup;

/// A matrix and precisions that are not applied yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StagedLines {
    matrix: Option<Matrix>,
    precisions: Vec<(MemberIndex, MemberPrecision)>,
}

impl StagedLines {
    /// Stages an entry of the matrix.
    ///
    /// # Errors
    /// The matrix would break a rule.
    pub(crate) fn set(
        &mut self,
        running: &Matrix,
        cell: Cell,
        size: Option<BatchSize>,
    ) -> Result<(), InvalidMatrix> {
        let staged = self.matrix.as_ref().unwrap_or(running);
        self.matrix = Some(staged.with_entry(cell, size)?);
        Ok(())
    }

    /// Stages the precision of a member.
    pub(crate) fn compute_in(&mut self, member: MemberIndex, precision: MemberPrecision) {
        self.precisions.retain(|(staged, _)| *staged != member);
        self.precisions.push((member, precision));
    }

    /// Returns the staged changes with the running settings, or `None` without staged changes.
    pub(crate) fn applied_to(&self, running: Setup) -> Option<Setup> {
        if *self == StagedLines::default() {
            return None;
        }
        let setup = match &self.matrix {
            Some(matrix) => running.with_matrix(matrix.clone()),
            None => running,
        };
        let staged = self.precisions.iter();
        Some(staged.fold(setup, |setup, (member, precision)| {
            setup.with_precision(*member, *precision)
        }))
    }
}
