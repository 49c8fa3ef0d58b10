//! The status of changes: the change under way, the probation after it, and their views.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::deployment::Handover;
use crate::serving::{LogLevel, Setup};
use divisi_model::metrics::{Distribution, Reading};
use divisi_model::setup::SetupDiff;

use super::change_log::{HistoryEntry, Mark, Measured, changed_entries};
use super::event::{ChangeAction, ChangeOrigin, ChangeRefusal, WatchedBy};
use super::judge::{Baseline, Check, Limited, Terms};
use super::machine::ChangeMachine;
use super::requests::ModelChangeView;

/// The status of changes, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeStatus {
    /// The change under way, or the last one.
    pub reload: Option<ReloadView>,
    /// The change of the models that an operator requested last.
    pub models: Option<ModelChangeView>,
    /// Latencies under the previous setup.
    pub latency_before: Option<Distribution>,
    /// Whether the last change can be undone.
    pub can_undo: bool,
    /// Whether the last undo can be redone.
    pub can_redo: bool,
    /// The latest marks, oldest first.
    pub marks: Vec<Mark>,
    /// The latest setups, oldest first. The last one is running.
    pub history: Vec<HistoryEntry>,
    /// The last probation, or `None` after a later change.
    pub probation: Option<Probation>,
}

impl ChangeMachine {
    /// Returns the status, with the figures up to `now`.
    pub fn status(&self, now: &Reading) -> ChangeStatus {
        ChangeStatus {
            reload: self.shown.clone(),
            models: None,
            latency_before: self.latency_before.clone(),
            can_undo: self.log.undo().to_undo().is_some(),
            can_redo: self.log.undo().to_redo().is_some(),
            marks: self.log.marks(),
            history: self.log.history(now),
            probation: self.probation.as_ref().map(|p| p.view.clone()),
        }
    }
}

/// A change of the running setup: the one under way, or the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReloadView {
    /// The completed steps and the step under way, in words.
    pub steps: Vec<String>,
    /// The state of the change.
    pub state: ReloadState,
    /// The time that the change has taken.
    pub elapsed: Duration,
}

/// The state of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReloadState {
    /// It is under way.
    Running,
    /// The new setup serves.
    Done,
    /// The change failed; holds the reason, and whether the old matrix serves.
    Failed(String),
}

/// The probation of an applied setup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    /// The terms of the probation.
    pub terms: Terms,
    /// The start of the probation, after the engine's start.
    pub since: Duration,
    /// The comparable time since the change. The probation ends when it reaches the length of the terms.
    pub counted: Duration,
    /// When the verdict was given, after the engine's start, or `None` without a verdict.
    pub ended: Option<Duration>,
    /// The state of the probation.
    pub state: ProbationState,
    /// The figures of the previous setup. For a policy's change, only the affected queries count.
    pub before: Measured,
    /// The figures of the new setup so far.
    pub after: Measured,
    /// The state of each limit. Empty without a baseline to compare with.
    pub checks: Vec<Check>,
    /// The setup to restore if the probation fails. A policy may keep a part of its change.
    pub fallback: Setup,
}

impl Probation {
    /// Returns whether the change is a policy's, which rolls it back itself and tries again if that
    /// is refused.
    pub fn is_of_policy(&self) -> bool {
        self.checks.iter().any(|check| check.what == Limited::Goals)
    }

    pub(super) fn ends(&mut self, now: Duration, state: ProbationState) {
        (self.ended, self.state) = (Some(now), state);
    }
}

/// The state of a probation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbationState {
    /// The probation is running.
    Watching,
    /// The probation passed and the setup stays.
    Passed,
    /// The probation failed, and the setup is being or was rolled back; holds the reason. A policy
    /// rolls its change back itself.
    Failed(String),
    /// An operator ended the probation and kept the change.
    Kept,
}

/// A change under way.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) origin: ChangeOrigin,
    pub(super) watch: Option<WatchedBy>,
    /// The setup to plan once more if the plan is stale.
    pub(super) again: Option<Box<Setup>>,
    pub(super) handover: Handover,
    pub(super) began: Duration,
    pub(super) baseline: Option<Box<Baseline>>,
    pub(super) latency: Option<Box<Distribution>>,
}

impl UnderWay {
    pub(super) fn new(now: Duration, origin: ChangeOrigin) -> Self {
        UnderWay {
            origin,
            watch: None,
            again: None,
            handover: Handover::Beside,
            began: now,
            baseline: None,
            latency: None,
        }
    }
}

/// The actions that an event causes.
pub(super) type Actions = Vec<ChangeAction>;

/// The reason for a rollback by an operator.
pub(super) const TAKEN_BACK: &str = "an operator took it back";

/// Returns the action that logs `text` at the info level.
pub(super) fn info(text: String) -> Actions {
    vec![ChangeAction::Log(LogLevel::Info, text)]
}

/// Returns the log line of a completed change.
pub(super) fn done(
    diff: &SetupDiff,
    members: &[String],
    origin: &ChangeOrigin,
    took: Duration,
    gap: Option<Duration>,
) -> String {
    let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let took = millis(took);
    if diff.models {
        let gap = gap.map(|gap| format!("; no requests were started for {}", millis(gap)));
        return format!("{origin}: done in {took}{}", gap.unwrap_or_default());
    }
    let changes = diff.settings.iter();
    let mut said: Vec<String> = changes.flat_map(|change| change.words(members)).collect();
    if diff.entries > 0 || said.is_empty() {
        said.insert(0, changed_entries(diff));
    }
    format!("reload: {} in {took}", said.join(", "))
}

/// Returns the state and the log line of a failed change.
pub(super) fn failed(error: &ChangeRefusal, origin: &ChangeOrigin) -> (ReloadState, Actions) {
    let why = match origin {
        // After a loss the state of the previous setup is unknown.
        ChangeOrigin::Evacuation => error.to_string(),
        // The caller gets the error, or the request shows it.
        ChangeOrigin::Models(_) => return (ReloadState::Failed(error.to_string()), Actions::new()),
        _ if error.is_of_models() => error.to_string(),
        _ => format!("{error}; the old matrix serves"),
    };
    let log = ChangeAction::Log(LogLevel::Error, format!("reload failed: {why}"));
    (ReloadState::Failed(why), vec![log])
}
