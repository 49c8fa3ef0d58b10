//! The calls of each caller, to all models and to each, and all that was refused, as one state without
//! clock and lock.

use std::time::Duration;

use divisi_inference::error::ErrorKind;

use super::counts::CallFigures;
use super::models::{ModelLedger, ModelSeen};
use super::refusals::RefusalCounts;
use super::table::CallerTable;
use super::who::CallerName;

/// The callers that are told apart; calls of more are counted together.
const MOST_CALLERS: usize = 256;

/// The callers that are shown one by one.
const SHOWN: usize = 32;

/// The counts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallersSeen {
    /// The busiest callers of the window, busiest first.
    pub callers: Vec<(CallerName, CallFigures)>,
    /// The calls of all others together, and how many of them are known; `None` if there are none.
    pub others: Option<(usize, CallFigures)>,
    /// The refusals and failures by kind: in all, and in each moment of the window.
    pub refusals: Vec<(ErrorKind, u64, Vec<u32>)>,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct CallerLedger {
    callers: CallerTable,
    refusals: RefusalCounts,
    models: ModelLedger,
}

impl Default for CallerLedger {
    fn default() -> Self {
        CallerLedger {
            callers: CallerTable::of(MOST_CALLERS),
            refusals: RefusalCounts::default(),
            models: ModelLedger::default(),
        }
    }
}

impl CallerLedger {
    /// Counts a call that was over at `now`; `failed` says how, where it did.
    pub fn count(&mut self, now: Duration, who: &CallerName, failed: Option<ErrorKind>) {
        self.callers.count(now, who, failed.is_some());
        if let Some(kind) = failed {
            self.refuse(now, kind);
        }
    }

    /// Counts a call to a version of a model, likewise: among those of its caller, and of the model.
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

    /// Counts what was refused at `now`, whoever asked.
    pub fn refuse(&mut self, now: Duration, kind: ErrorKind) {
        self.refusals.add(now, kind);
    }

    /// Returns how often each kind of refusal and failure was since the start.
    pub fn refused(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        self.refusals.totals()
    }

    /// Returns what was counted by `now`.
    pub fn seen(&mut self, now: Duration) -> CallersSeen {
        let (callers, others) = self.callers.listed(now, SHOWN);
        CallersSeen {
            callers,
            others,
            refusals: self.refusals.listed(now),
        }
    }

    /// Returns what was counted by `now` of each version of a model that was asked within the window.
    pub fn models_seen(&mut self, now: Duration) -> Vec<ModelSeen> {
        self.models.seen(now)
    }
}
