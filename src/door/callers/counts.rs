//! The recent calls, and those that were refused or failed.

use std::time::Duration;

use divisi_model::metrics::MomentCounts;

use super::who::RATE_MOMENTS;

/// The calls of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct CallCounts {
    calls: MomentCounts,
    failed: MomentCounts,
}

impl CallCounts {
    /// Counts a call that ended at `now`.
    pub(super) fn add(&mut self, now: Duration, has_failed: bool) {
        self.calls.add(now);
        if has_failed {
            self.failed.add(now);
        }
    }

    /// Returns whether there was no call within the window before `now`.
    pub(super) fn is_idle(&mut self, now: Duration) -> bool {
        self.calls.advance(now);
        self.calls.sum() == 0
    }

    /// Returns the figures at `now`.
    pub(super) fn figures(&mut self, now: Duration) -> CallFigures {
        self.calls.advance(now);
        self.failed.advance(now);
        CallFigures {
            per_second: self.calls.rate(RATE_MOMENTS),
            calls: self.calls.sum(),
            failed: self.failed.sum(),
        }
    }
}

/// The calls of a client within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// Calls per second in the last [`RATE_MOMENTS`].
    pub per_second: f64,
    /// Calls within the window.
    pub calls: u64,
    /// Calls that were refused or failed.
    pub failed: u64,
}

impl CallFigures {
    /// Adds the calls of another client.
    pub(super) fn add(&mut self, other: CallFigures) {
        self.per_second += other.per_second;
        self.calls += other.calls;
        self.failed += other.failed;
    }
}
