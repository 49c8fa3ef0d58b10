//! The rows of a step, and the late or failed steps that a quorum does not wait for.

use std::time::Duration;

use super::graph::{Dataflow, RowJoin, StepIndex};
use super::progress::{PartProgress, StepReport, StepState};
use super::rows::RowSet;

/// The state of a quorum.
pub(super) enum QuorumState {
    /// It waits for steps that are not over.
    Waits,
    /// It starts with the available results.
    Starts,
    /// Too many steps failed for a row that cannot be left out.
    Unmet,
}

impl PartProgress {
    /// Returns the state of a quorum that waits for its steps until `wait` after the request's
    /// arrival.
    pub(super) fn quorum(&self, flow: &Dataflow, at: StepIndex, wait: Duration) -> QuorumState {
        let missing = self.steps[at.get()].missing as usize;
        let least = min_needs(flow, at);
        let lacks = |least| !self.missing_rows_of(flow, at, least).is_empty();
        // Steps that are not over may leave out rows, and these need no quorum.
        let mut waits_for = flow
            .step(at)
            .needs
            .iter()
            .filter(|need| !self.is_over(**need));
        let is_known = waits_for.all(|need| flow.is_whole(*need));
        if !flow.is_spared(at) && is_known && lacks(least.saturating_sub(missing)) {
            return QuorumState::Unmet;
        }
        let there = flow.step(at).needs.len() - missing;
        let has_waited = self.waited.is_some_and(|waited| wait <= waited);
        match missing == 0 || has_waited && there >= least && !lacks(least) {
            true => QuorumState::Starts,
            false => QuorumState::Waits,
        }
    }

    /// Returns the rows of a step, depending on the steps that it needs.
    pub(super) fn joined_rows(&self, flow: &Dataflow, at: StepIndex) -> RowSet {
        let over = self.needs_over(flow, at);
        let least = min_needs(flow, at);
        RowSet::held_by(self.rows, least, over.map(|need| self.rows_of(need)))
    }

    /// Returns the rows that a step lacks because of failures, which leave fewer than `least` of
    /// its needed steps with the row.
    pub(super) fn missing_rows_of(&self, flow: &Dataflow, at: StepIndex, least: usize) -> RowSet {
        let of = |need: StepIndex| &self.steps[need.get()];
        let over = self.needs_over(flow, at);
        if over.clone().all(|need| of(need).lacking.is_empty()) {
            return RowSet::empty();
        }
        let whole = |need| of(need).rows.union(self.rows, &of(need).lacking);
        let whole: Vec<RowSet> = over.clone().map(whole).collect();
        let whole = RowSet::held_by(self.rows, least, whole.iter());
        let there = RowSet::held_by(self.rows, least, over.map(|need| &of(need).rows));
        whole.difference(self.rows, &there)
    }

    fn needs_over<'a>(
        &'a self,
        flow: &'a Dataflow,
        at: StepIndex,
    ) -> impl Iterator<Item = StepIndex> + Clone + 'a {
        let needs = flow.step(at).needs.iter().copied();
        needs.filter(|need| self.is_over(*need))
    }

    /// Notes the steps that a quorum does not wait for: running steps (but not the steps that only
    /// wait for these), and steps that failed for some rows.
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
            let is_quorum = matches!(flow.step(at).join, RowJoin::Quorum { .. });
            if fails && !is_quorum || step.state == StepState::Waiting {
                for need in &flow.step(at).needs {
                    awaited[need.get()] = true;
                }
            }
        }
    }

    /// Drops the steps that are not over and that no unfinished step needs.
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

/// Returns the minimum number of needed steps in which a row must exist.
pub(super) fn min_needs(flow: &Dataflow, at: StepIndex) -> usize {
    let step = flow.step(at);
    match step.join {
        RowJoin::All => step.needs.len(),
        RowJoin::Any => 1,
        RowJoin::Always => 0,
        RowJoin::Quorum { least, .. } => least,
    }
}
