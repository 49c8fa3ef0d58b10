//! The time of a router.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time since a router was created.
#[derive(Clone, Debug)]
pub(super) enum RouterClock {
    Real(Instant),
    Virtual(Arc<VirtualTime>),
}

impl RouterClock {
    pub(super) fn now(&self) -> Duration {
        match self {
            RouterClock::Real(began) => began.elapsed(),
            RouterClock::Virtual(time) => time.get(),
        }
    }
}

/// The time of a simulation, in nanoseconds.
#[derive(Debug, Default)]
pub struct VirtualTime(AtomicU64);

impl VirtualTime {
    /// Returns the time.
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Sets the time.
    pub fn set(&self, now: Duration) {
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanos, Ordering::Relaxed);
    }
}
