//! How often something happened, and how long it took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often something happened, and how long it took in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimedCount {
    /// How often.
    pub count: u64,
    /// Nanoseconds in all.
    pub ns: u64,
}

impl TimedCount {
    /// Counts one that took so long.
    pub(super) fn add(&mut self, time: Duration) {
        self.count += 1;
        self.ns = self.ns.saturating_add(nanoseconds(time));
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A [`TimedCount`] that is counted from any thread.
#[derive(Debug, Default)]
pub(super) struct Counter {
    count: AtomicU64,
    ns: AtomicU64,
}

impl Counter {
    /// Counts one that took so long.
    pub(super) fn add(&self, time: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Returns what was counted.
    pub(super) fn read(&self) -> TimedCount {
        TimedCount {
            count: self.count.load(Ordering::Relaxed),
            ns: self.ns.load(Ordering::Relaxed),
        }
    }
}
