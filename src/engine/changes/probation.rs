//! The probation of the last change: how it is watched, and how it ends.

use std::time::Duration;

use crate::deployment::{DeploymentError, Handover};
use crate::serving::{LogLevel, Setup};
use divisi_model::metrics::Reading;

use super::change_log::{ChangeLog, Measured};
use super::event::{ChangeAction, ChangeOrigin, ChangeRefusal, ChangeWork, WatchedBy};
use super::goals::{GoalEvidence, together};
use super::judge::{Baseline, Judge, JudgeVerdict, Terms};
use super::machine::ChangeMachine;
use super::status::{Actions, Probation, ProbationState, TAKEN_BACK, UnderWay, info};

/// A probation with its baseline.
#[derive(Clone, Debug)]
pub(super) struct RunningProbation {
    /// The visible part.
    pub view: Probation,
    /// The watched requests, or `None` if a policy counts its queries.
    requests: Option<RequestTrial>,
    /// How the engine of the fallback takes over if it has other models.
    pub(super) handover: Handover,
}

/// The requests since a change, in the periods in which other programs do not disturb the host.
#[derive(Clone, Debug)]
struct RequestTrial {
    judge: Judge,
    /// The reading when measuring began, or `None` before that. The counts of disturbed periods are
    /// added, so that they do not count.
    start: Option<Reading>,
    /// The last reading.
    last: Option<Reading>,
    /// The time of disturbed periods.
    skipped: Duration,
    was_disturbed: bool,
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

impl RequestTrial {
    fn new(terms: Terms, before: &Baseline, now: Duration) -> Self {
        RequestTrial {
            judge: Judge::new(terms, before, now),
            start: None,
            last: None,
            skipped: Duration::ZERO,
            was_disturbed: false,
        }
    }

    /// Checks the figures up to now. The time since the last check does not count if other programs
    /// disturbed the host, nor does the next one, in which requests that waited meanwhile end. A
    /// change that is disturbed for longer than the probation stays.
    fn check(
        &mut self,
        view: &mut Probation,
        now: &Reading,
        in_flight: usize,
        is_disturbed: bool,
        change_log: &ChangeLog,
    ) -> JudgeVerdict {
        let settle = (view.terms.lasts / 10).min(SETTLE);
        if self.start.is_none() && now.at < view.since + settle {
            return JudgeVerdict::Watching;
        }
        let skips = std::mem::replace(&mut self.was_disturbed, is_disturbed) || is_disturbed;
        let start = self.start.get_or_insert_with(|| now.clone());
        if let Some(last) = self.last.replace(now.clone()).filter(|_| skips) {
            *start = now.since(&last.since(start));
            self.skipped += now.at.saturating_sub(last.at);
        }
        let after = change_log.graded(now.since(start));
        view.after = change_log.measured(&after);
        view.checks = self.judge.checks(&after);
        if self.skipped > view.terms.lasts {
            return JudgeVerdict::Passed(Some(DISTURBED.to_owned()));
        }
        let counted = now.at.saturating_sub(self.skipped);
        view.counted = counted.saturating_sub(view.since);
        self.judge.step(counted, &after, in_flight)
    }
}

impl RunningProbation {
    /// Begins a probation at `now`.
    fn new(terms: Terms, fallback: Setup, handover: Handover, now: Duration) -> Self {
        RunningProbation {
            handover,
            view: Probation {
                terms,
                since: now,
                counted: Duration::ZERO,
                ended: None,
                state: ProbationState::Watching,
                before: Measured::default(),
                after: Measured::default(),
                checks: Vec::new(),
                fallback,
            },
            requests: None,
        }
    }

    /// Watches requests against those before the change, which had the figures `measured`.
    fn of_requests(mut self, before: &Baseline, measured: Measured) -> Self {
        let trial = RequestTrial::new(self.view.terms, before, self.view.since);
        self.view.before = measured;
        self.view.checks = trial.judge.checks(&Reading::default());
        RunningProbation {
            requests: Some(trial),
            ..self
        }
    }

    fn shows(&mut self, evidence: &GoalEvidence) {
        self.view.before = finished(&evidence.before);
        self.view.after = finished(&evidence.after);
        self.view.checks = evidence.checks();
        self.view.counted = evidence.counted;
    }

    /// Returns whether the probation is still running.
    pub(super) fn is_watching(&self) -> bool {
        self.view.state == ProbationState::Watching
    }

    /// Returns whether the probation is running and judged by the goals of queries.
    fn watches_goals(&self) -> bool {
        self.is_watching() && self.requests.is_none()
    }

    /// Returns the time until the next check.
    fn pause(&self) -> Duration {
        (self.view.terms.lasts / LOOKS).clamp(OFTEN, SELDOM)
    }
}

/// Returns the counts of queries. Their latencies are not known here.
fn finished(queries: &[Reading]) -> Measured {
    let all = together(queries);
    Measured {
        answered: all.answered + all.failed,
        ..Measured::default()
    }
}

impl ChangeMachine {
    /// Returns whether a requested change leaves the probation of a policy's change as it is. The
    /// policy's next change is judged together with it or ends it once it is made, and a rollback
    /// shows why the change failed.
    ///
    /// # Errors
    /// The change is to be judged together with one that is no longer on probation.
    pub(super) fn keeps_probation(
        &self,
        origin: &ChangeOrigin,
        watch: Option<&WatchedBy>,
    ) -> Result<bool, ChangeRefusal> {
        let watches_goals = self.is_judging();
        match (origin, watch) {
            (
                _,
                Some(WatchedBy::Goals {
                    continues: true, ..
                }),
            ) if !watches_goals => Err(DeploymentError::Stale.into()),
            (_, Some(WatchedBy::Goals { continues, .. })) => Ok(*continues),
            (ChangeOrigin::Policy, None) => Ok(watches_goals),
            (ChangeOrigin::RolledBack(_), None) => {
                let probation = self.probation.as_ref();
                Ok(probation.is_some_and(|p| p.requests.is_none()))
            }
            _ => Ok(false),
        }
    }

    /// Returns whether a policy's change is on probation.
    pub fn is_judging(&self) -> bool {
        self.probation.as_ref().is_some_and(|p| p.watches_goals())
    }

    /// Begins the probation of a change from `old`, or goes on with that of a policy's changes.
    pub(super) fn watch(&mut self, now: Duration, change: &UnderWay, old: Setup) -> Actions {
        let handover = change.handover;
        match (&change.watch, &change.baseline) {
            (Some(WatchedBy::Requests(terms)), Some(before)) => {
                let before = self.log.graded_baseline((**before).clone());
                let measured = self.log.measured(&before.whole);
                let begun = RunningProbation::new(*terms, old, handover, now);
                self.probation = Some(begun.of_requests(&before, measured));
            }
            (Some(WatchedBy::Goals { evidence, .. }), _) => {
                let running = self.probation.take().filter(|p| p.watches_goals());
                let terms = GoalEvidence::terms();
                let begun = || RunningProbation::new(terms, old, handover, now);
                let mut probation = running.unwrap_or_else(begun);
                probation.shows(evidence);
                self.probation = Some(probation);
            }
            (None, _) if change.origin == ChangeOrigin::Policy => {
                return self.make_way(&change.origin.to_string());
            }
            _ => {}
        }
        Actions::new()
    }

    pub(super) fn kept(&mut self) -> Result<Actions, ChangeRefusal> {
        self.fallback()?;
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
        let probation = self.probation.as_ref();
        let watched = probation.filter(|p| p.is_watching() && p.requests.is_some())?;
        Some(ChangeAction::LookAt(now.saturating_add(watched.pause())))
    }

    pub(super) fn looked(
        &mut self,
        now: Duration,
        reading: &Reading,
        in_flight: usize,
        is_disturbed: bool,
    ) -> Actions {
        if self.under_way.is_some() || self.is_closing {
            return Actions::new();
        }
        let watched = self.probation.as_mut().filter(|p| p.is_watching());
        let Some(RunningProbation {
            view,
            requests: Some(trial),
            ..
        }) = watched
        else {
            return Actions::new();
        };
        match trial.check(view, reading, in_flight, is_disturbed, &self.log) {
            JudgeVerdict::Watching => self.next_look(now).into_iter().collect(),
            JudgeVerdict::Passed(remark) => passed(view, now, remark),
            JudgeVerdict::Failed(why) => {
                let fallback = Box::new(view.fallback.clone());
                let text = format!("probation failed: {why}; restoring the previous setup");
                view.ends(now, ProbationState::Failed(why.clone()));
                let log = ChangeAction::Log(LogLevel::Warn, text);
                vec![log, self.restore(now, why, fallback)]
            }
        }
    }

    /// Judges a policy's change by its queries. Without a running probation of such a change, there
    /// is no verdict.
    pub(super) fn goals_seen(&mut self, now: Duration, evidence: &GoalEvidence) -> Actions {
        let is_free = self.under_way.is_none() && !self.is_closing;
        let watched = self.probation.as_mut();
        let Some(watched) = watched.filter(|p| is_free && p.watches_goals()) else {
            return Actions::new();
        };
        watched.shows(evidence);
        let verdict = evidence.verdict();
        let mut actions = match &verdict {
            JudgeVerdict::Watching => Actions::new(),
            JudgeVerdict::Passed(remark) => passed(&mut watched.view, now, remark.clone()),
            JudgeVerdict::Failed(why) => {
                watched.view.ends(now, ProbationState::Failed(why.clone()));
                let text = format!("probation failed: {why}; the policy rolls its change back");
                vec![ChangeAction::Log(LogLevel::Warn, text)]
            }
        };
        actions.push(ChangeAction::Judged(verdict));
        actions
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

fn passed(view: &mut Probation, now: Duration, remark: Option<String>) -> Actions {
    view.ends(now, ProbationState::Passed);
    let remark = remark.map(|r| format!(", though {r}")).unwrap_or_default();
    info(format!("probation passed{remark}"))
}
