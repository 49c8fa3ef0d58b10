//! The record of the slowest and of failed requests of an engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use divisi_model::metrics::{RequestLog, RequestRecord, RequestsView};

use super::locks::Leaf;

/// The recent requests. A fast request costs two comparisons and takes no lock.
#[derive(Default)]
pub(crate) struct RecentRequests {
    log: Leaf<RequestLog>,
    /// The latency that a request must exceed to be kept, in nanoseconds.
    least: AtomicU64,
    /// The end of the time for which this holds, in nanoseconds since the engine's start.
    until: AtomicU64,
}

impl RecentRequests {
    /// Returns whether an answered request is slow enough to be kept.
    pub(super) fn is_slow(&self, now: Duration, latency: Duration) -> bool {
        nanos(latency) > self.least.load(Ordering::Relaxed)
            || nanos(now) >= self.until.load(Ordering::Relaxed)
    }

    /// Adds a slow request.
    pub(super) fn answered(&self, record: RequestRecord) {
        let mut log = self.log.lock();
        log.answered(record);
        let (least, until) = log.threshold();
        self.least.store(nanos(least), Ordering::Relaxed);
        self.until.store(nanos(until), Ordering::Relaxed);
    }

    /// Adds a failed request.
    pub(super) fn failed(&self, record: RequestRecord) {
        self.log.lock().failed(record);
    }

    /// Returns the requests as of `now`.
    pub(super) fn view(&self, now: Duration) -> RequestsView {
        self.log.lock().view(now)
    }
}

/// Faster than [`Duration::as_nanos`], which computes in 128 bits.
fn nanos(time: Duration) -> u64 {
    let seconds = time.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(time.subsec_nanos()))
}
