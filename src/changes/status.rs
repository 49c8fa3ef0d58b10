//! The status of changes, as shown.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::Distribution;

use super::change_log::{Mark, Ran};
use super::probation::Probation;

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
    pub history: Vec<Ran>,
    /// The last probation, unless something was changed since.
    pub probation: Option<Probation>,
}
