//! Where the time of a request went, from when its last batch did what.

use std::time::Duration;

use crate::metrics::LatencySplit;
use crate::serving::batch::{Batch, Placed};

/// When a batch did what; the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// It left the queue.
    pub started: Duration,
    /// Its samples were where it computes, and it began to.
    pub copied: Duration,
    /// It was done computing.
    pub computed: Duration,
    /// Its answers were back in host memory.
    pub returned: Duration,
    /// Time of the whole device that it took.
    pub busy: Duration,
    /// How long computing takes undisturbed, where a profile says so.
    pub expected: Option<Duration>,
}

/// The latency, from `submitted` to `now`, of a request that `batch` completed with
/// the samples of `placed`.
pub(super) fn split<T>(
    submitted: Duration,
    now: Duration,
    batch: &Batch<T>,
    placed: &Placed<T>,
    stamps: &Stamps,
) -> LatencySplit {
    let between = |from: Duration, to: Duration| to.saturating_sub(from);
    let arrived = placed.range.arrived;
    let waited = between(arrived, stamps.started);
    let ahead = placed.copied_for.min(waited);
    let idle = batch.held_since;
    let held = idle.map(|idle| between(arrived.max(idle), stamps.started));
    let held = held.unwrap_or_default().min(waited - ahead);
    LatencySplit {
        admission: between(submitted, arrived),
        queueing: waited - held - ahead,
        batching: held,
        copying: ahead
            + between(stamps.started, stamps.copied)
            + between(stamps.computed, stamps.returned),
        computing: between(stamps.copied, stamps.computed),
        combining: between(stamps.returned, now),
    }
}
