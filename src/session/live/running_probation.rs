//! What was applied on probation.

use std::time::Duration;

use crate::metrics::Reading;
use crate::session::judge::{Baseline, Judge, JudgeVerdict};
use crate::session::{Measured, Probation, ProbationState, Setup, Terms};

use super::change_log::ChangeLog;

/// A probation and what it is measured from.
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
    pub fn new(
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

    pub fn is_watching(&self) -> bool {
        self.view.state == ProbationState::Watching
    }

    /// How long to wait before it is looked at again.
    pub fn pause(&self) -> Duration {
        (self.view.terms.lasts / LOOKS).clamp(OFTEN, SELDOM)
    }

    /// Looks at what was done by now.
    pub fn look(
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
