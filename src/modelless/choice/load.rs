//! How much a variant has to do, and when a query would be answered by it.

use std::time::Duration;

use crate::variants::Variant;

/// How much a variant has to do now, on the device where a query would be answered soonest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariantLoad {
    /// The instances that answer there.
    pub instances: u32,
    /// The samples that wait there.
    pub queued: u32,
    /// The time until one of their lanes is free, or zero where one is.
    pub free_in: Duration,
    /// The time that other variants' batches which wait take the device, where they take turns.
    pub others: Duration,
    /// How many times as long as in its profile its batches take now: 1 where nothing interferes.
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

    /// Returns the time from now until a query of one sample would be answered, or `None` where
    /// the variant does not run.
    ///
    /// Where a lane is free it runs at once and alone. Else it waits for one, for the full batches
    /// ahead of it and for those of others, and is counted with a full batch: others may join it
    /// until it runs.
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

/// Returns a time made longer; a factor below 1, or NaN, leaves it as it is.
fn stretched(time: Duration, factor: f64) -> Duration {
    match factor > 1.0 {
        true => Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX),
        false => time,
    }
}
