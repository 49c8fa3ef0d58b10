//! The position of a query in the queue of a variant, and its device time.

use std::time::Duration;

use divisi_modelless::variants::Variant;

use super::backlog::{DUE_LEVEL, QueryPlace};
use crate::served::{ServedTasks, TaskQuery};

/// The expected answer time of a variant, from its profile and the work ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryProspect {
    pub(super) place: QueryPlace,
    pub(super) finish: Duration,
    /// The device time of the query.
    pub(super) work: Duration,
    /// The 99th percentile of its batch.
    pub(super) batch: Duration,
}

/// Returns the position of a query among those waiting for a variant of a group.
pub(super) fn place(
    tasks: &ServedTasks,
    group: usize,
    query: TaskQuery<'_>,
    now: Duration,
) -> QueryPlace {
    match (tasks.level(group, query), tasks.latency(group, query)) {
        (DUE_LEVEL, Some(goal)) => QueryPlace::DueBy(now.saturating_add(goal)),
        (urgency, _) => QueryPlace::Level(urgency),
    }
}

/// Returns the device time of samples in a batch of `together` samples, or in their own batch if
/// they are more.
pub(super) fn part_of_batch(variant: &Variant, samples: u32, together: u32) -> Duration {
    let together = together.max(samples).max(1);
    let batch = variant.profile.latency.mean(together);
    batch.saturating_mul(samples) / together
}
