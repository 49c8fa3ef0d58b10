//! Where changes stand: the one that is being made, the probation after it, and how both are
//! shown.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::serving::{ApplyError, LogLevel, Plan, Setup};
use divisi_model::metrics::{Distribution, Reading};

use super::change_log::{ChangeLog, HistoryEntry, Mark, Measured, changed_entries};
use super::event::{ChangeAction, ChangeOrigin, ChangeWork};
use super::judge::{Baseline, Check, Judge, JudgeVerdict, Terms};

/// All that is shown of changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeStatus {
    /// The change under way, or the last one.
    pub reload: Option<ReloadView>,
    /// Latencies under what ran before.
    pub latency_before: Option<Distribution>,
    /// Whether the last change can be undone.
    pub can_undo: bool,
    /// Whether the last undo can be redone.
    pub can_redo: bool,
    /// The latest marks, oldest first.
    pub marks: Vec<Mark>,
    /// The latest setups that ran, oldest first; the last one runs.
    pub history: Vec<HistoryEntry>,
    /// The last probation, unless something was changed since.
    pub probation: Option<Probation>,
}

/// A change of what runs: the one under way, or the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReloadView {
    /// Steps done and under way, in words.
    pub steps: Vec<String>,
    /// Where it stands.
    pub state: ReloadState,
    /// How long it has taken.
    pub elapsed: Duration,
}

/// Where a change stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReloadState {
    /// It is under way.
    Running,
    /// The new setup serves.
    Done,
    /// It failed; holds the reason, and whether the old matrix serves.
    Failed(String),
}

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
    /// The setup that comes back if it fails, or `None` where the models of before do.
    pub fallback: Option<Setup>,
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

/// A change that is being made.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) origin: ChangeOrigin,
    pub(super) terms: Option<Terms>,
    /// The setup to plan once more if the plan is stale.
    pub(super) again: Option<Box<Setup>>,
    pub(super) began: Duration,
    pub(super) baseline: Option<Box<Baseline>>,
    pub(super) latency: Option<Box<Distribution>>,
}

impl UnderWay {
    pub(super) fn new(now: Duration, origin: ChangeOrigin) -> Self {
        UnderWay {
            origin,
            terms: None,
            again: None,
            began: now,
            baseline: None,
            latency: None,
        }
    }
}

/// The actions that follow from an event.
pub(super) type Actions = Vec<ChangeAction>;

/// Why a change that an operator takes back is rolled back.
pub(super) const TAKEN_BACK: &str = "an operator took it back";

/// Returns the one action of logging `text` for information.
pub(super) fn info(text: String) -> Actions {
    vec![ChangeAction::Log(LogLevel::Info, text)]
}

/// Returns what the log says of a change that was made.
pub(super) fn done(plan: &Plan, took: Duration) -> String {
    let mut said = plan.setting_words();
    if !plan.reload().is_empty() || said.is_empty() {
        said.insert(0, changed_entries(plan));
    }
    let millis = took.as_secs_f64() * 1e3;
    format!("reload: {} in {millis:.1} ms", said.join(", "))
}

/// Returns the state and the log line of a change that was not made.
pub(super) fn failed(error: &ApplyError, origin: &ChangeOrigin) -> (ReloadState, Actions) {
    // After a loss nothing can be said of what ran before.
    let why = match origin {
        ChangeOrigin::Evacuation => error.to_string(),
        _ => format!("{error}; the old matrix serves"),
    };
    let text = format!("reload failed: {why}");
    let log = ChangeAction::Log(LogLevel::Error, text);
    (ReloadState::Failed(why), vec![log])
}

/// Returns the actions by which the models of before come back: that ends the engine that changes are
/// about.
pub(super) fn models_back(why: String) -> Actions {
    let text = format!("probation failed: {why}; the models of before come back");
    let log = ChangeAction::Log(LogLevel::Warn, text);
    vec![log, ChangeAction::Run(ChangeWork::BringModelsBack(why))]
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
        fallback: Option<Setup>,
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

    /// One that is over, to be shown on.
    pub(super) fn over(view: Probation) -> Self {
        let judge = Judge::new(view.terms, &Baseline::default(), view.since);
        RunningProbation {
            start: None,
            judge,
            view,
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
