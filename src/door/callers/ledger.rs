//! The calls of each client, in total and by model, and all refusals. A state machine without clock
//! or lock.

use std::time::Duration;

use divisi_inference::error::ErrorKind;

use super::counts::CallFigures;
use super::models::{ModelLedger, ModelSeen};
use super::refusals::RefusalCounts;
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
    /// The refusals and failures by kind: in total, and in each interval of the window.
    pub refusals: Vec<(ErrorKind, u64, Vec<u32>)>,
}

/// The counts of all clients, models and refusals.
#[derive(Clone, Debug)]
pub struct CallerLedger {
    callers: CallerTable,
    refusals: RefusalCounts,
    models: ModelLedger,
}

impl Default for CallerLedger {
    fn default() -> Self {
        CallerLedger {
            callers: CallerTable::with_limit(MOST_CALLERS),
            refusals: RefusalCounts::default(),
            models: ModelLedger::default(),
        }
    }
}

impl CallerLedger {
    /// Counts a call that ended at `now`; `failed` is its error, if any.
    pub fn count(&mut self, now: Duration, who: &CallerName, failed: Option<ErrorKind>) {
        self.callers.count(now, who, failed.is_some());
        if let Some(kind) = failed {
            self.refuse(now, kind);
        }
    }

    /// Counts a call to a version of a model that ended at `now`, for its client and for the model.
    pub fn count_of_model(
        &mut self,
        now: Duration,
        model: (&str, &str),
        who: &CallerName,
        failed: Option<ErrorKind>,
    ) {
        self.count(now, who, failed);
        self.models.count(now, model, who, failed);
    }

    /// Counts a refusal at `now` without a client.
    pub fn refuse(&mut self, now: Duration, kind: ErrorKind) {
        self.refusals.add(now, kind);
    }

    /// Returns the total of each kind of refusal and failure.
    pub fn refused(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        self.refusals.totals()
    }

    /// Returns the counts at `now`.
    pub fn snapshot(&mut self, now: Duration) -> CallersSeen {
        let (callers, others) = self.callers.listed(now, SHOWN);
        CallersSeen {
            callers,
            others,
            refusals: self.refusals.listed(now),
        }
    }

    /// Returns the counts at `now` of each version of a model requested within the window.
    pub fn models_seen(&mut self, now: Duration) -> Vec<ModelSeen> {
        self.models.snapshot(now)
    }
}
