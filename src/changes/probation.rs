//! What was applied on probation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::Reading;
use crate::serving::Setup;

use super::change_log::{ChangeLog, Measured};
use super::judge::{Baseline, Judge, JudgeVerdict};
use super::terms::{Check, Terms};

/// Something applied that has to prove itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    pub terms: Terms,
    /// Time since the engine's start.
    pub since: Duration,
    pub state: ProbationState,
    pub before: Measured,
    /// So far.
    pub after: Measured,
    /// How each limit stands; none where there is nothing to compare with.
    pub checks: Vec<Check>,
    /// What comes back where it fails.
    pub fallback: Setup,
}

/// Where a probation stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbationState {
    Watching,
    Passed,
    /// It is being rolled back, or was; says why.
    Failed(String),
    /// An operator ended it; what was applied stays.
    Kept,
}

/// A probation and what it is measured from.
#[derive(Clone, Debug)]
pub(super) struct RunningProbation {
    pub view: Probation,
    judge: Judge,
    /// What was done before it began to count.
    start: Option<Reading>,
}

/// What waited while the change was made is not the new setup's: it counts after a tenth
/// of its time, at most this.
const SETTLE: Duration = Duration::from_secs(1);

/// How often it is looked at: so many times, within bounds.
const LOOKS: u32 = 50;
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(250);

impl RunningProbation {
    /// Begins now, where `before` is what ran before did.
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
