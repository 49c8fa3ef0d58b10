//! One part of a request on its way through a graph.

use std::time::Duration;

use crate::metrics::LatencySplit;

use super::graph::{Dataflow, RowJoin, StepIndex, StepWork, WantedSteps};
use super::quorum::{QuorumState, least};
use super::rows::RowSet;

/// How far one part of a request has come.
#[derive(Clone, Debug)]
pub struct PartProgress {
    pub(super) rows: usize,
    pub(super) steps: Box<[StepProgress]>,
    /// Steps that are wanted and not over.
    pub(super) open: usize,
    /// Quorums that wait no longer than this do without steps that are late.
    pub(super) waited: Option<Duration>,
    /// The time from the request's arrival until its first steps could run.
    admission: Duration,
    /// The step that ended last.
    last: StepIndex,
}

#[derive(Clone, Debug)]
pub(super) struct StepProgress {
    pub(super) state: StepState,
    /// Its rows, once it is ready.
    pub(super) rows: RowSet,
    /// Rows that would be among them, had nothing failed.
    pub(super) lacking: RowSet,
    /// Whether there was work to do.
    ran: bool,
    /// Where the time went until it was ready; `None` for a first step.
    before: Option<Box<LatencySplit>>,
    /// Steps that it needs and that are not over.
    pub(super) missing: u32,
    /// The step that ended last of those that it waited for; `None` for a first step.
    after: Option<StepIndex>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepState {
    /// No output that was asked for needs it.
    Unwanted,
    Waiting,
    /// So many rows are still to be run; 1 for all of the host's.
    Running(usize),
    Over,
    /// It was not over when nobody waited for it any more.
    Dropped,
}

/// The consequences of an event. Each event adds to it; it is kept and cleared for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Steps that are to be run now.
    pub ready: Vec<StepIndex>,
    /// Steps whose results nobody waits for any more.
    pub dropped: Vec<StepIndex>,
    /// Steps that a quorum went on without: they were not over, or failed for some rows.
    pub late: Vec<StepIndex>,
    /// Ensembles' folds that are over.
    pub folded: Vec<StepIndex>,
    /// Steps that failed for so many rows that a quorum of them cannot be met.
    pub unmet: bool,
    /// Steps that are not run for some rows, and for how many.
    pub skipped: Vec<(StepIndex, usize)>,
    /// All is over: where the time of the longest chain of steps went.
    pub over: Option<LatencySplit>,
}

impl StepReport {
    /// Forgets what it holds, but not its memory.
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

/// Computes where the time of the steps that ended an event went; it is asked only where that is of
/// interest.
type Chain<'a> = &'a dyn Fn() -> LatencySplit;

impl PartProgress {
    /// Begins with a part of `rows` rows, whose first steps can run `admission` after the request's
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
                rows: RowSet::none(),
                lacking: RowSet::none(),
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
        for &first in flow.first() {
            if part.is(first, StepState::Waiting) {
                part.start(flow, first, RowSet::ALL, &at_once, report);
            }
        }
        part
    }

    /// So many rows of a model's step were run; `split` is where their time went from when they
    /// were ready.
    pub fn ran(
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

    /// The work on some rows of a step that is run has failed, and they will have no result.
    pub fn lacks(&mut self, step: StepIndex, rows: &RowSet) {
        let all = self.rows;
        let step = &mut self.steps[step.get()];
        if matches!(step.state, StepState::Running(_)) {
            let kept = step.rows.without(all, rows);
            let lost = step.rows.without(all, &kept);
            step.lacking = step.lacking.or(all, &lost);
            step.rows = kept;
        }
    }

    /// The host made the result of a step for `rows`, `total` after the request's arrival.
    pub fn made(
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
        let mut chain = self.before(step);
        chain.combining += total.saturating_sub(chain.total());
        self.end(flow, step, &|| chain, report);
    }

    /// Quorums that wait no longer than `total`, the time since the request's arrival, do without
    /// steps that are late from now on.
    pub fn lose_patience(&mut self, flow: &Dataflow, total: Duration, report: &mut StepReport) {
        self.waited = Some(total);
        for (at, step) in flow.steps() {
            let waits = self.is(at, StepState::Waiting);
            if waits && matches!(step.join, RowJoin::Quorum { .. }) {
                let mut chain = self.before(at);
                chain.queueing += total.saturating_sub(chain.total());
                self.consider(flow, at, &|| chain, report);
            }
        }
    }

    /// Whether all that is wanted is over.
    pub fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// Iterates over the steps of the longest chain that were run, from the one that ended last back
    /// to a first one.
    pub fn longest_chain(&self) -> impl Iterator<Item = StepIndex> + '_ {
        let before = |at: &StepIndex| self.steps[at.get()].after;
        let chain = std::iter::successors(Some(self.last), before);
        chain.filter(|at| self.steps[at.get()].ran)
    }

    /// Returns the rows of a step that is ready or over.
    pub fn rows_of(&self, step: StepIndex) -> &RowSet {
        &self.steps[step.get()].rows
    }

    /// Returns how many rows it would have more, had nothing failed.
    pub fn lacking(&self, step: StepIndex) -> usize {
        self.steps[step.get()].lacking.count(self.rows)
    }

    /// Whether a step ended with a result for some rows or none, and was not dropped.
    pub fn is_over(&self, step: StepIndex) -> bool {
        self.is(step, StepState::Over)
    }

    /// Whether a step's result is still waited for.
    pub fn is_running(&self, step: StepIndex) -> bool {
        matches!(self.steps[step.get()].state, StepState::Running(_))
    }

    fn is(&self, step: StepIndex, state: StepState) -> bool {
        self.steps[step.get()].state == state
    }

    fn before(&self, step: StepIndex) -> LatencySplit {
        let before = self.steps[step.get()].before.as_deref();
        before.copied().unwrap_or(admitted(self.admission))
    }

    /// A step may run for `rows`.
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

    /// A step is over: looks at those that need it.
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

    /// Starts a step if it has what it waits for.
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
                    // The time that it waits from here on is its own.
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
        let rows = self.joined(flow, at);
        self.steps[at.get()].lacking = self.lacking_of(flow, at, least(flow, at));
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

/// Where the time of a request went that has only been let in.
fn admitted(admission: Duration) -> LatencySplit {
    LatencySplit {
        admission,
        ..LatencySplit::default()
    }
}
