//! How much a variant has to do, and when a query would be answered by it.

use std::time::Duration;

use crate::variants::Variant;

/// How much a variant has to do now, over all its instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariantLoad {
    /// The instances that answer.
    pub instances: u32,
    /// The samples that wait.
    pub queued: u32,
    /// The batches that run.
    pub running: u32,
    /// The time that batches of other variants take the devices that they take turns on, at the one
    /// where it is least.
    pub others: Duration,
    /// How many times as long as in its profile its batches take now: 1 where nothing interferes.
    pub slowdown: f64,
}

impl VariantLoad {
    /// A variant that does not run.
    pub const INACTIVE: VariantLoad = VariantLoad {
        instances: 0,
        queued: 0,
        running: 0,
        others: Duration::ZERO,
        slowdown: 1.0,
    };

    /// Returns the time from now until a query of one sample would be answered, or `None` where
    /// the variant does not run.
    ///
    /// Where a lane is free the query runs at once. Else it waits for a lane, of which one of
    /// `running` comes free after a batch at the longest, and for what is queued.
    pub fn finish(&self, variant: &Variant) -> Option<Duration> {
        if self.instances == 0 {
            return None;
        }
        let lanes = variant.profile.lanes.get().saturating_mul(self.instances);
        let batch = self.queued.saturating_add(1).min(variant.batch.get());
        let latency = &variant.profile.latency;
        let wait = match self.running < lanes && self.queued == 0 {
            true => Duration::ZERO,
            false => latency.mean(batch) / lanes + self.drained(variant),
        };
        let unhindered = wait.saturating_add(latency.p99(batch));
        Some(
            self.others
                .saturating_add(stretched(unhindered, self.slowdown)),
        )
    }

    /// Returns the time until what is queued now has been started.
    fn drained(&self, variant: &Variant) -> Duration {
        let rate = variant.saturation().get() * f64::from(self.instances);
        let seconds = f64::from(self.queued) / rate;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Returns a time made longer; a factor below 1, or NaN, leaves it as it is.
fn stretched(time: Duration, factor: f64) -> Duration {
    match factor > 1.0 {
        true => Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX),
        false => time,
    }
}
