//! Probations: setups that are watched for a time after they were applied.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::Reading;
use crate::serving::Setup;

use super::change_log::{ChangeLog, Measured};
use super::judge::{Baseline, Judge, JudgeVerdict};
use super::terms::{Check, Terms};

/// The probation of a setup that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    /// The terms that it is judged by.
    pub terms: Terms,
    /// When it began, after the engine's start.
    pub since: Duration,
    /// How far it has come.
    pub state: ProbationState,
    /// The figures of the setup before.
    pub before: Measured,
    /// The figures of the new setup so far.
    pub after: Measured,
    /// How each limit stands; none where there is nothing to compare with.
    pub checks: Vec<Check>,
    /// The setup that comes back if it fails.
    pub fallback: Setup,
}

/// Where a probation stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbationState {
    /// It is not decided yet.
    Watching,
    /// It passed; the setup stays.
    Passed,
    /// It failed, and the setup is or was rolled back; holds the reason.
    Failed(String),
    /// An operator ended it; what was applied stays.
    Kept,
}

/// A probation and what it is measured from.
#[derive(Clone, Debug)]
pub(super) struct RunningProbation {
    /// The part that is shown.
    pub view: Probation,
    judge: Judge,
    /// The reading when measuring began, or `None` before that.
    start: Option<Reading>,
}

/// The longest wait before measuring begins; a tenth of the probation's time if that is less.
/// Requests that queued while the change was made are so left out.
const SETTLE: Duration = Duration::from_secs(1);

/// The number of looks in a probation, and the bounds of the pause between them.
const LOOKS: u32 = 50;
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(250);

impl RunningProbation {
    /// Begins a probation at `now` against the baseline `before`.
    pub(super) fn new(
        terms: Terms,
        before: &Baseline,
        measured: Measured,
        fallback: Setup,
        now: Duration,
    ) -> Self {
        let judge = Judge::new(terms, before, now);
        RunningProbation {
            start: None,
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

    /// Whether it is not decided yet.
    pub(super) fn is_watching(&self) -> bool {
        self.view.state == ProbationState::Watching
    }

    /// How long to wait before it is looked at again.
    pub(super) fn pause(&self) -> Duration {
        (self.view.terms.lasts / LOOKS).clamp(OFTEN, SELDOM)
    }

    /// Looks at what was done by now.
    pub(super) fn look(
        &mut self,
        now: &Reading,
        in_flight: usize,
        change_log: &ChangeLog,
    ) -> JudgeVerdict {
        let settle = (self.view.terms.lasts / 10).min(SETTLE);
        if self.start.is_none() && now.at < self.view.since + settle {
            return JudgeVerdict::Watching;
        }
        let start = self.start.get_or_insert_with(|| now.clone());
        let after = change_log.graded(now.since(start));
        self.view.after = change_log.measured(&after);
        self.view.checks = self.judge.checks(&after);
        self.judge.step(now.at, &after, in_flight)
    }
}
