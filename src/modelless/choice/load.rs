//! The load of a variant, and the expected answer time of a query.

use std::time::Duration;

use crate::variants::Variant;

/// The current load of a variant on the device with the earliest answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariantLoad {
    /// The instances on the device.
    pub instances: u32,
    /// The samples queued on the device.
    pub queued: u32,
    /// The time until a lane is free; zero if one is.
    pub free_in: Duration,
    /// The device time of other variants' queued batches, if variants take turns.
    pub others: Duration,
    /// The ratio of the current batch time to the profiled one: 1 without interference.
    pub slowdown: f64,
}

impl VariantLoad {
    /// A variant that does not run.
    pub const INACTIVE: VariantLoad = VariantLoad {
        instances: 0,
        queued: 0,
        free_in: Duration::ZERO,
        others: Duration::ZERO,
        slowdown: 1.0,
    };

    /// Returns the time from now until a query of one sample would be answered, or `None` if the
    /// variant does not run.
    ///
    /// On a free lane, the query runs at once and alone. Otherwise it waits for a lane, for the
    /// full batches ahead of it and for those of other variants, and counts with a full batch:
    /// other queries may join it until it runs.
    pub fn finish(&self, variant: &Variant) -> Option<Duration> {
        if self.instances == 0 {
            return None;
        }
        let (size, latency) = (variant.batch.get(), &variant.profile.latency);
        let lanes = match variant.profile.sharing.takes_turns() {
            true => 1,
            false => variant.profile.lanes.get().saturating_mul(self.instances),
        };
        let full = latency.mean(size).saturating_mul(self.queued / size) / lanes;
        let wait = self.free_in.saturating_add(self.others);
        let joined = match wait.is_zero() && self.queued == 0 {
            true => 1,
            false => size,
        };
        let own = full.saturating_add(latency.p99(joined));
        Some(wait.saturating_add(stretched(own, self.slowdown)))
    }
}

/// Returns a time scaled by a factor; a factor below 1 or NaN does not change it.
fn stretched(time: Duration, factor: f64) -> Duration {
    match factor > 1.0 {
        true => Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX),
        false => time,
    }
}
