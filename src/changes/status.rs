//! What is shown of changes.

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
    /// Says why, and whether the old matrix serves.
    Failed(String),
}

/// All that is shown of changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeStatus {
    /// The change under way, or the last one.
    pub reload: Option<ReloadView>,
    /// Latencies under what ran before.
    pub latency_before: Option<Distribution>,
    /// Something ran before that can come back.
    pub can_undo: bool,
    /// Something was undone that can be done again.
    pub can_redo: bool,
    /// What changed and when, oldest first, bounded.
    pub marks: Vec<Mark>,
    /// What ran when and how it did, oldest first, bounded; the last one runs.
    pub history: Vec<Ran>,
    /// What was applied last on probation, unless something was changed since.
    pub probation: Option<Probation>,
}
