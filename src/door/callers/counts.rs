//! Calls of the last moments, and those of them that were refused or failed.

use std::time::Duration;

use super::moments::MomentCounts;
use super::who::RATE_MOMENTS;

/// The calls of somebody.
#[derive(Clone, Debug, Default)]
pub(super) struct CallCounts {
    calls: MomentCounts,
    failed: MomentCounts,
}

impl CallCounts {
    /// Counts a call that was over at `now`.
    pub(super) fn add(&mut self, now: Duration, has_failed: bool) {
        self.calls.add(now);
        if has_failed {
            self.failed.add(now);
        }
    }

    /// Returns whether there was no call in the moments before `now`.
    pub(super) fn is_idle(&mut self, now: Duration) -> bool {
        self.calls.advance(now);
        self.calls.sum() == 0
    }

    /// Returns the figures as of `now`.
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

/// The calls of somebody within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// Calls a second in the last [`RATE_MOMENTS`].
    pub per_second: f64,
    /// Calls in all moments.
    pub calls: u64,
    /// Those of them that were refused or failed.
    pub failed: u64,
}

impl CallFigures {
    /// Adds the calls of somebody else.
    pub(super) fn add(&mut self, other: CallFigures) {
        self.per_second += other.per_second;
        self.calls += other.calls;
        self.failed += other.failed;
    }
}
