//! The probation of the last change: how it is watched, and how it ends.

use std::time::Duration;

use crate::deployment::Handover;
use crate::serving::{LogLevel, Setup};
use divisi_model::metrics::Reading;

use super::change_log::{ChangeLog, Measured};
use super::event::{ChangeAction, ChangeOrigin, ChangeRefusal, ChangeWork};
use super::judge::{Baseline, Judge, JudgeVerdict, Terms};
use super::machine::ChangeMachine;
use super::status::{Actions, Probation, ProbationState, TAKEN_BACK, UnderWay, info};

/// A probation with its baseline.
#[derive(Clone, Debug)]
pub(super) struct RunningProbation {
    /// The visible part.
    pub view: Probation,
    judge: Judge,
    /// The reading when measuring began, or `None` before that. The counts of disturbed periods are
    /// added, so that they do not count.
    start: Option<Reading>,
    /// The last reading.
    last: Option<Reading>,
    /// The time of disturbed periods.
    skipped: Duration,
    was_disturbed: bool,
    /// How the engine of the fallback takes over if it has other models.
    pub(super) handover: Handover,
}

/// The remark of a change that stays because the host does not allow a verdict.
const DISTURBED: &str = "other programs disturbed the host";

/// The longest wait before measuring begins, or a tenth of the probation's time if that is less.
/// Excludes requests that were queued during the change.
const SETTLE: Duration = Duration::from_secs(1);

/// The number of checks in a probation, and the bounds of the pause between them.
const LOOKS: u32 = 50;
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(250);

impl RunningProbation {
    /// Begins a probation at `now` against the baseline `before`.
    pub(super) fn new(
        terms: Terms,
        before: &Baseline,
        measured: Measured,
        (fallback, handover): (Setup, Handover),
        now: Duration,
    ) -> Self {
        let judge = Judge::new(terms, before, now);
        RunningProbation {
            start: None,
            last: None,
            skipped: Duration::ZERO,
            was_disturbed: false,
            handover,
            view: Probation {
                terms,
                since: now,
                state: ProbationState::Watching,
                before: measured,
                after: Measured::default(),
                checks: judge.checks(&Reading::default()),
                fallback,
            },
            judge,
        }
    }

    /// Returns whether the probation is still running.
    pub(super) fn is_watching(&self) -> bool {
        self.view.state == ProbationState::Watching
    }

    /// Returns the time until the next check.
    pub(super) fn pause(&self) -> Duration {
        (self.view.terms.lasts / LOOKS).clamp(OFTEN, SELDOM)
    }

    /// Checks the figures up to now. The time since the last check does not count if other programs
    /// disturbed the host, nor does the next one, in which requests that waited meanwhile end. A
    /// change that is disturbed for longer than the probation stays.
    pub(super) fn check(
        &mut self,
        now: &Reading,
        (in_flight, is_disturbed): (usize, bool),
        change_log: &ChangeLog,
    ) -> JudgeVerdict {
        let settle = (self.view.terms.lasts / 10).min(SETTLE);
        if self.start.is_none() && now.at < self.view.since + settle {
            return JudgeVerdict::Watching;
        }
        let skips = std::mem::replace(&mut self.was_disturbed, is_disturbed) || is_disturbed;
        let start = self.start.get_or_insert_with(|| now.clone());
        if let Some(last) = self.last.replace(now.clone()).filter(|_| skips) {
            *start = now.since(&last.since(start));
            self.skipped += now.at.saturating_sub(last.at);
        }
        let after = change_log.graded(now.since(start));
        self.view.after = change_log.measured(&after);
        self.view.checks = self.judge.checks(&after);
        if self.skipped > self.view.terms.lasts {
            return JudgeVerdict::Passed(Some(DISTURBED.to_owned()));
        }
        let counted = now.at.saturating_sub(self.skipped);
        self.judge.step(counted, &after, in_flight)
    }
}

impl ChangeMachine {
    pub(super) fn kept(&mut self) -> Result<Actions, ChangeRefusal> {
        match self.end_probation(ProbationState::Kept) {
            true => Ok(info("probation ended: change kept".into())),
            false => Err(ChangeRefusal::NoProbation),
        }
    }

    pub(super) fn taken_back(&mut self, now: Duration) -> Result<Actions, ChangeRefusal> {
        if self.is_closing {
            return Err(ChangeRefusal::Closed);
        }
        let fallback = Box::new(self.fallback()?.clone());
        self.end_probation(ProbationState::Failed(TAKEN_BACK.into()));
        Ok(vec![self.restore(now, TAKEN_BACK.into(), fallback)])
    }

    /// Ends the probation of the last change before the next change.
    pub(super) fn make_way(&mut self, why: &str) -> Actions {
        let actions = self.interrupt_probation(why);
        if actions.is_empty() {
            self.probation = None;
        }
        actions
    }

    pub(super) fn interrupt_probation(&mut self, why: &str) -> Actions {
        match self.end_probation(ProbationState::Kept) {
            true => info(format!("probation ended early ({why}): change kept")),
            false => Actions::new(),
        }
    }

    fn end_probation(&mut self, state: ProbationState) -> bool {
        let watched = self.probation.as_mut().filter(|p| p.is_watching());
        watched.map(|p| p.view.state = state).is_some()
    }

    pub(super) fn next_look(&self, now: Duration) -> Option<ChangeAction> {
        let watched = self.probation.as_ref().filter(|p| p.is_watching())?;
        Some(ChangeAction::LookAt(now.saturating_add(watched.pause())))
    }

    pub(super) fn looked(
        &mut self,
        now: Duration,
        reading: &Reading,
        load: (usize, bool),
    ) -> Actions {
        if self.under_way.is_some() || self.is_closing {
            return Actions::new();
        }
        let watched = self.probation.as_mut().filter(|p| p.is_watching());
        let Some(watched) = watched else {
            return Actions::new();
        };
        match watched.check(reading, load, &self.log) {
            JudgeVerdict::Watching => self.next_look(now).into_iter().collect(),
            JudgeVerdict::Passed(remark) => {
                watched.view.state = ProbationState::Passed;
                let remark = remark.map(|r| format!(", though {r}")).unwrap_or_default();
                info(format!("probation passed{remark}"))
            }
            JudgeVerdict::Failed(why) => {
                watched.view.state = ProbationState::Failed(why.clone());
                let fallback = Box::new(watched.view.fallback.clone());
                let text = format!("probation failed: {why}; restoring the previous setup");
                let log = ChangeAction::Log(LogLevel::Warn, text);
                vec![log, self.restore(now, why, fallback)]
            }
        }
    }

    /// Begins to roll back the change on probation.
    fn restore(&mut self, now: Duration, why: String, fallback: Box<Setup>) -> ChangeAction {
        let handover = self.probation.as_ref().map(|p| p.handover);
        let handover = handover.unwrap_or_default();
        let change = UnderWay {
            handover,
            ..UnderWay::new(now, ChangeOrigin::RolledBack(why))
        };
        self.begin(change, ChangeWork::ApplySetup(fallback, handover))
    }
}
