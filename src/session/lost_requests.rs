//! Requests that were lost lately, and why.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Requests that were not answered lately: what an operator has to act on now, whatever
/// was lost long ago.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRequests {
    /// Over how long they are counted; zero while there are none.
    pub over: Duration,
    /// Turned away at the door.
    pub refused: Lost,
    /// Let in, and given up: late, or their worker lost.
    pub failed: Lost,
}

/// Requests that were lost one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How many.
    pub requests: u64,
    /// Why the last of them was.
    pub why: Option<String>,
}
