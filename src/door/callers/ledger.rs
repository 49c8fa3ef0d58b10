//! The calls of each client, in total and by model. A state machine without clock or lock.

use std::time::Duration;

use super::counts::CallFigures;
use super::models::{ModelLedger, ModelSeen};
use super::table::CallerTable;
use super::who::CallerName;

/// The number of distinct clients; calls of further clients are counted together.
const MOST_CALLERS: usize = 256;

/// The number of clients that are listed.
const SHOWN: usize = 32;

/// The counts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallersSeen {
    /// The busiest clients within the window, busiest first.
    pub callers: Vec<(CallerName, CallFigures)>,
    /// The total calls of all other clients and their known number, or `None` if there are none.
    pub others: Option<(usize, CallFigures)>,
}

/// The counts of all clients and models.
#[derive(Clone, Debug)]
pub struct CallerLedger {
    callers: CallerTable,
    models: ModelLedger,
}

impl Default for CallerLedger {
    fn default() -> Self {
        CallerLedger {
            callers: CallerTable::with_limit(MOST_CALLERS),
            models: ModelLedger::default(),
        }
    }
}

impl CallerLedger {
    /// Counts a call that ended at `now`.
    pub fn count(&mut self, now: Duration, who: &CallerName, has_failed: bool) {
        self.callers.count(now, who, has_failed);
    }

    /// Counts a call to a version of a model that ended at `now`, for its client and for the model.
    pub fn count_of_model(
        &mut self,
        now: Duration,
        name: &str,
        version: &str,
        who: &CallerName,
        has_failed: bool,
    ) {
        self.count(now, who, has_failed);
        self.models.count(now, name, version, who, has_failed);
    }

    /// Returns the counts at `now`.
    pub fn snapshot(&mut self, now: Duration) -> CallersSeen {
        let (callers, others) = self.callers.listed(now, SHOWN);
        CallersSeen { callers, others }
    }

    /// Returns the counts at `now` of each version of a model requested within the window.
    pub fn models_seen(&mut self, now: Duration) -> Vec<ModelSeen> {
        self.models.snapshot(now)
    }
}
