//! The progress of one part of a request through a graph.

use std::time::Duration;

use crate::metrics::LatencySplit;

use super::graph::{Dataflow, RowJoin, StepIndex, StepWork, WantedSteps};
use super::quorum::{QuorumState, min_needs};
use super::rows::RowSet;

/// The progress of one part of a request.
#[derive(Clone, Debug)]
pub struct PartProgress {
    pub(super) rows: usize,
    pub(super) steps: Box<[StepProgress]>,
    /// The number of wanted steps that are not over.
    pub(super) open: usize,
    /// Quorums with at most this wait time no longer wait for late steps.
    pub(super) waited: Option<Duration>,
    /// The time from the request's arrival until its first steps could run.
    admission: Duration,
    /// The step that ended last.
    last: StepIndex,
}

#[derive(Clone, Debug)]
pub(super) struct StepProgress {
    pub(super) state: StepState,
    /// Its rows, from when it is ready.
    pub(super) rows: RowSet,
    /// Rows that are missing because of failures.
    pub(super) lacking: RowSet,
    /// Whether there was work to do.
    ran: bool,
    /// The split of the time until it was ready, or `None` for a first step.
    before: Option<Box<LatencySplit>>,
    /// The number of needed steps that are not over.
    pub(super) missing: u32,
    /// The last of the awaited steps to end, or `None` for a first step.
    after: Option<StepIndex>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepState {
    /// No requested output needs it.
    Unwanted,
    Waiting,
    /// The number of rows still to run; 1 for all rows of a host step.
    Running(usize),
    Over,
    /// It was not over when no step needed it any longer.
    Dropped,
}

/// The consequences of an event. Each event adds to the report. It is reused, and cleared for the
/// next event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Steps to run now.
    pub ready: Vec<StepIndex>,
    /// Steps whose results are no longer needed.
    pub dropped: Vec<StepIndex>,
    /// Steps that a quorum did not wait for: they were not over, or failed for some rows.
    pub late: Vec<StepIndex>,
    /// Folds of ensembles that are over.
    pub folded: Vec<StepIndex>,
    /// Whether too many steps failed to meet a quorum.
    pub unmet: bool,
    /// Steps that are skipped for some rows, with the number of rows.
    pub skipped: Vec<(StepIndex, usize)>,
    /// The split of the time of the longest chain of steps, once all steps are over.
    pub over: Option<LatencySplit>,
}

impl StepReport {
    /// Clears the report, but keeps its memory.
    pub fn clear(&mut self) {
        self.ready.clear();
        self.dropped.clear();
        self.late.clear();
        self.folded.clear();
        self.unmet = false;
        self.skipped.clear();
        self.over = None;
    }
}

/// Computes the time split of the steps that ended an event. Called only if the split is needed.
type Chain<'a> = &'a dyn Fn() -> LatencySplit;

impl PartProgress {
    /// Starts a part of `rows` rows whose first steps can run `admission` after the request's
    /// arrival.
    pub fn begin(
        flow: &Dataflow,
        wanted: &WantedSteps,
        rows: usize,
        admission: Duration,
        report: &mut StepReport,
    ) -> Self {
        let mut open = 0;
        let steps = flow.steps().map(|(at, step)| {
            let wanted = wanted.has(at);
            open += usize::from(wanted);
            StepProgress {
                state: match wanted {
                    true => StepState::Waiting,
                    false => StepState::Unwanted,
                },
                missing: step.needs.len() as u32,
                rows: RowSet::empty(),
                lacking: RowSet::empty(),
                ran: false,
                before: None,
                after: None,
            }
        });
        let mut part = PartProgress {
            rows,
            steps: steps.collect(),
            open,
            waited: None,
            admission,
            last: StepIndex::default(),
        };
        let at_once = || admitted(admission);
        for &first in flow.first_steps() {
            if part.has_state(first, StepState::Waiting) {
                part.start(flow, first, RowSet::ALL, &at_once, report);
            }
        }
        part
    }

    /// Records that rows of a model's step ran. `split` divides their time since they were ready.
    pub fn record_rows(
        &mut self,
        flow: &Dataflow,
        step: StepIndex,
        rows: usize,
        split: impl Fn() -> LatencySplit,
        report: &mut StepReport,
    ) {
        let running = &mut self.steps[step.get()];
        let StepState::Running(left) = running.state else {
            return;
        };
        let left = left.saturating_sub(rows);
        running.state = StepState::Running(left);
        if left == 0 {
            let (before, admission) = (running.before.take(), self.admission);
            let chain = || {
                let mut chain = before.as_deref().copied().unwrap_or(admitted(admission));
                chain += split();
                chain
            };
            self.end(flow, step, &chain, report);
        }
    }

    /// Records that running some rows of a step failed, so that they have no result.
    pub fn record_failed_rows(&mut self, step: StepIndex, rows: &RowSet) {
        let all = self.rows;
        let step = &mut self.steps[step.get()];
        if matches!(step.state, StepState::Running(_)) {
            let kept = step.rows.difference(all, rows);
            let lost = step.rows.difference(all, &kept);
            step.lacking = step.lacking.union(all, &lost);
            step.rows = kept;
        }
    }

    /// Records that the host made the result of a step for `rows`, `total` after the request's
    /// arrival.
    pub fn record_host_result(
        &mut self,
        flow: &Dataflow,
        step: StepIndex,
        rows: RowSet,
        total: Duration,
        report: &mut StepReport,
    ) {
        if !matches!(self.steps[step.get()].state, StepState::Running(_)) {
            return;
        }
        self.steps[step.get()].rows = rows;
        let mut chain = self.split_before(step);
        chain.combining += total.saturating_sub(chain.total());
        self.end(flow, step, &|| chain, report);
    }

    /// Stops waiting for late steps in all quorums whose wait time is at most `total`, the time
    /// since the request's arrival.
    pub fn lose_patience(&mut self, flow: &Dataflow, total: Duration, report: &mut StepReport) {
        self.waited = Some(total);
        for (at, step) in flow.steps() {
            let waits = self.has_state(at, StepState::Waiting);
            if waits && matches!(step.join, RowJoin::Quorum { .. }) {
                let mut chain = self.split_before(at);
                chain.queueing += total.saturating_sub(chain.total());
                self.consider(flow, at, &|| chain, report);
            }
        }
    }

    /// Returns whether all wanted steps are over.
    pub fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// Iterates over the executed steps of the longest chain, from the last one to end back to a
    /// first step.
    pub fn longest_chain(&self) -> impl Iterator<Item = StepIndex> + '_ {
        let before = |at: &StepIndex| self.steps[at.get()].after;
        let chain = std::iter::successors(Some(self.last), before);
        chain.filter(|at| self.steps[at.get()].ran)
    }

    /// Returns the rows of a step that is ready or over.
    pub fn rows_of(&self, step: StepIndex) -> &RowSet {
        &self.steps[step.get()].rows
    }

    /// Returns the number of rows that it lacks because of failures.
    pub fn missing_rows(&self, step: StepIndex) -> usize {
        self.steps[step.get()].lacking.count(self.rows)
    }

    /// Returns whether a step ended, with or without results, and was not dropped.
    pub fn is_over(&self, step: StepIndex) -> bool {
        self.has_state(step, StepState::Over)
    }

    /// Returns whether a step's result is still awaited.
    pub fn is_running(&self, step: StepIndex) -> bool {
        matches!(self.steps[step.get()].state, StepState::Running(_))
    }

    fn has_state(&self, step: StepIndex, state: StepState) -> bool {
        self.steps[step.get()].state == state
    }

    fn split_before(&self, step: StepIndex) -> LatencySplit {
        let before = self.steps[step.get()].before.as_deref();
        before.copied().unwrap_or(admitted(self.admission))
    }

    /// Makes a step ready for `rows`.
    fn start(
        &mut self,
        flow: &Dataflow,
        at: StepIndex,
        rows: RowSet,
        chain: Chain<'_>,
        report: &mut StepReport,
    ) {
        let left = match flow.step(at).work {
            StepWork::Model { .. } => rows.count(self.rows),
            StepWork::Host => usize::from(!rows.is_empty()),
            StepWork::Fold => 0,
        };
        let lacking = self.steps[at.get()].lacking.count(self.rows);
        let skipped = self.rows - rows.count(self.rows) - lacking;
        if skipped > 0 {
            report.skipped.push((at, skipped));
        }
        let first = flow.step(at).needs.is_empty();
        let step = &mut self.steps[at.get()];
        let is_fold = flow.step(at).work == StepWork::Fold;
        step.ran = left > 0 || is_fold;
        step.rows = rows;
        step.state = StepState::Running(left);
        if is_fold {
            report.folded.push(at);
        }
        if left == 0 {
            return self.end(flow, at, chain, report);
        }
        step.before = (!first).then(|| Box::new(chain()));
        report.ready.push(at);
    }

    /// Ends a step, and checks the steps that need it.
    fn end(&mut self, flow: &Dataflow, at: StepIndex, chain: Chain<'_>, report: &mut StepReport) {
        self.steps[at.get()].state = StepState::Over;
        self.last = at;
        self.open -= 1;
        for &reader in flow.readers(at) {
            let next = &mut self.steps[reader.get()];
            next.missing -= 1;
            if next.state == StepState::Waiting {
                next.after = Some(at);
                self.consider(flow, reader, chain, report);
            }
        }
        if self.open == 0 && report.over.is_none() {
            report.over = Some(chain());
        }
    }

    /// Starts a step if its needs are met.
    fn consider(
        &mut self,
        flow: &Dataflow,
        at: StepIndex,
        chain: Chain<'_>,
        report: &mut StepReport,
    ) {
        let missing = self.steps[at.get()].missing as usize;
        let is_quorum = match flow.step(at).join {
            RowJoin::Quorum { wait, .. } => match self.quorum(flow, at, wait) {
                QuorumState::Starts => true,
                QuorumState::Waits => {
                    // From here on the wait belongs to this step.
                    self.steps[at.get()].before = Some(Box::new(chain()));
                    return;
                }
                QuorumState::Unmet => {
                    report.unmet = true;
                    return;
                }
            },
            RowJoin::All | RowJoin::Any | RowJoin::Always if missing == 0 => false,
            RowJoin::All | RowJoin::Any | RowJoin::Always => return,
        };
        let rows = self.joined_rows(flow, at);
        self.steps[at.get()].lacking = self.missing_rows_of(flow, at, min_needs(flow, at));
        if is_quorum {
            self.note_late(flow, at, report);
        }
        self.start(flow, at, rows, chain, report);
        if missing > 0 {
            self.drop_unneeded(flow, report);
            if self.open == 0 && report.over.is_none() {
                report.over = Some(chain());
            }
        }
    }
}

/// Returns the time split of a request that was only admitted.
fn admitted(admission: Duration) -> LatencySplit {
    LatencySplit {
        admission,
        ..LatencySplit::default()
    }
}
