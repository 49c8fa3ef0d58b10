//! Who asks: the calls of each client over the last minute, and what was refused or failed by its
//! reason, for an operator who watches.

mod call;
mod ledger;
mod moments;
mod who;

pub(crate) use call::CountedCall;
pub use ledger::{CallFigures, CallerLedger, CallersSeen};
pub use moments::{MOMENT, MOMENTS};
pub use who::{CallerName, RATE_MOMENTS};

use std::sync::Arc;
use std::time::Instant;

use divisi::lock::Leaf;

use crate::error::ErrorKind;

/// Counts the calls of a server, from all its threads.
pub(crate) struct Callers {
    began: Instant,
    ledger: Leaf<CallerLedger>,
}

impl Default for Callers {
    fn default() -> Self {
        Callers {
            began: Instant::now(),
            ledger: Leaf::default(),
        }
    }
}

impl Callers {
    /// Counts a call that is over; `failed` says how, where it did.
    fn count(&self, who: &CallerName, failed: Option<ErrorKind>) {
        let now = self.began.elapsed();
        self.ledger.lock().count(now, who, failed);
    }

    /// Counts something that was refused before it was a call of anybody, such as a connection.
    pub(crate) fn refuse(&self, kind: ErrorKind) {
        let now = self.began.elapsed();
        self.ledger.lock().refuse(now, kind);
    }

    /// Returns what was counted by now.
    pub(crate) fn seen(self: &Arc<Self>) -> CallersSeen {
        let now = self.began.elapsed();
        self.ledger.lock().seen(now)
    }
}
