//! Counts of events with their total time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of events and their total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimedCount {
    /// The number of events.
    pub count: u64,
    /// The total time in nanoseconds.
    pub ns: u64,
}

impl TimedCount {
    /// Counts an event of this duration.
    pub(super) fn add(&mut self, time: Duration) {
        self.count += 1;
        self.ns = self.ns.saturating_add(nanoseconds(time));
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A [`TimedCount`] for use by several threads.
#[derive(Debug, Default)]
pub(super) struct Counter {
    count: AtomicU64,
    ns: AtomicU64,
}

impl Counter {
    /// Counts an event of this duration.
    pub(super) fn add(&self, time: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// Returns the current count.
    pub(super) fn read(&self) -> TimedCount {
        TimedCount {
            count: self.count.load(Ordering::Relaxed),
            ns: self.ns.load(Ordering::Relaxed),
        }
    }
}
