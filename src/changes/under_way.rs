//! A change that is being made, and what the log says of its end.

use std::time::Duration;

use crate::metrics::Distribution;
use crate::serving::{ApplyError, LogLevel, Plan, Setup};

use super::change_log::changed_entries;
use super::event::{ChangeAction, ChangeOrigin};
use super::judge::Baseline;
use super::status::ReloadState;
use super::terms::Terms;

/// The actions that follow from an event.
pub(super) type Actions = Vec<ChangeAction>;

/// Why a change that an operator takes back is rolled back.
pub(super) const TAKEN_BACK: &str = "an operator took it back";

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
