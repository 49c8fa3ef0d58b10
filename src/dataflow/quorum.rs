//! The rows of a step that needs others, and which of these a quorum does without: those that are late, and
//! those that failed.

use super::graph::{Dataflow, RowJoin, StepIndex};
use super::progress::{PartProgress, StepReport, StepState};
use super::rows::RowSet;

impl PartProgress {
    /// Returns the rows of a step, by those of the steps that it needs.
    pub(super) fn joined(&self, flow: &Dataflow, at: StepIndex) -> RowSet {
        let over = self.needs_over(flow, at);
        let least = least(flow, at);
        RowSet::held_by(self.rows, least, over.map(|need| self.rows_of(need)))
    }

    /// Returns the rows that it would have, had nothing failed.
    pub(super) fn joined_with_lacking(&self, flow: &Dataflow, at: StepIndex) -> RowSet {
        let whole = |need: StepIndex| {
            let step = &self.steps[need.get()];
            step.rows.or(self.rows, &step.lacking)
        };
        let whole: Vec<RowSet> = self.needs_over(flow, at).map(whole).collect();
        RowSet::held_by(self.rows, least(flow, at), whole.iter())
    }

    /// Returns how many of the steps that it needs are over and failed for some rows.
    pub(super) fn failing(&self, flow: &Dataflow, at: StepIndex) -> usize {
        let fails = |need: &StepIndex| !self.steps[need.get()].lacking.is_empty();
        self.needs_over(flow, at).filter(fails).count()
    }

    fn needs_over<'a>(
        &'a self,
        flow: &'a Dataflow,
        at: StepIndex,
    ) -> impl Iterator<Item = StepIndex> + Clone + 'a {
        let needs = flow.step(at).needs.iter().copied();
        needs.filter(|need| self.is_over(*need))
    }

    /// Notes the steps that a quorum starts without: those that could run, where it is others that
    /// wait for them, and those that failed for some rows.
    pub(super) fn note_late(&self, flow: &Dataflow, quorum: StepIndex, report: &mut StepReport) {
        let mut awaited = vec![false; quorum.get() + 1];
        awaited[quorum.get()] = true;
        for at in (0..=quorum.get()).rev().map(StepIndex::nth) {
            if !awaited[at.get()] {
                continue;
            }
            let step = &self.steps[at.get()];
            let fails = at != quorum && !step.lacking.is_empty();
            match step.state {
                StepState::Running(_) | StepState::Dropped => report.late.push(at),
                StepState::Over if fails => report.late.push(at),
                _ => {}
            }
            if fails || step.state == StepState::Waiting {
                for need in &flow.step(at).needs {
                    awaited[need.get()] = true;
                }
            }
        }
    }

    /// Drops the steps that are not over and that nobody who is not over waits for.
    pub(super) fn drop_unneeded(&mut self, flow: &Dataflow, report: &mut StepReport) {
        let mut needed: Vec<bool> = vec![false; self.steps.len()];
        for output in flow.outputs() {
            needed[output.get()] = true;
        }
        for at in (0..self.steps.len()).rev() {
            let step = StepIndex::nth(at);
            let state = self.steps[at].state;
            if needed[at] && state == StepState::Waiting {
                for need in &flow.step(step).needs {
                    needed[need.get()] = true;
                }
            }
            let unfinished = matches!(state, StepState::Waiting | StepState::Running(_));
            if !needed[at] && unfinished {
                self.steps[at].state = StepState::Dropped;
                self.open -= 1;
                report.dropped.push(step);
            }
        }
    }
}

/// Returns in how many of the steps that one needs its rows exist.
fn least(flow: &Dataflow, at: StepIndex) -> usize {
    let step = flow.step(at);
    match step.join {
        RowJoin::All => step.needs.len(),
        RowJoin::Any => 1,
        RowJoin::Always => 0,
        RowJoin::Quorum { least, .. } => least,
    }
}
