//! The slowdown of devices relative to profiles, measured on queued work.

use std::time::Duration;

/// The time constant of an estimate in seconds.
const MEMORY: f64 = 2.0;
/// The half-life of an estimate without new answers, in seconds.
const HALF_LIFE: f64 = 10.0;
/// The number of mean deviations added to the mean for planning (as RFC 6298 does for
/// retransmission timeouts).
const DEVIATIONS: f64 = 4.0;
/// The range to which the ratio of one answer is limited.
const BELIEVED: (f64, f64) = (0.1, 10.0);

/// The ratio of actual to profiled time of a device, as a mean and mean deviation over time.
/// Simultaneous answers together count as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct DevicePace {
    mean: f64,
    deviation: f64,
    told: Duration,
}

impl DevicePace {
    /// Creates the pace of a device that matches its profiles.
    pub(super) fn new(now: Duration) -> Self {
        DevicePace {
            mean: 1.0,
            deviation: 0.0,
            told: now,
        }
    }

    /// Records an answer after `latency` that profiles expect after `expected`.
    pub(super) fn answered(&mut self, now: Duration, expected: Duration, latency: Duration) {
        let found = latency.as_secs_f64() / expected.as_secs_f64().max(1e-9);
        let found = found.clamp(BELIEVED.0, BELIEVED.1);
        self.forget(now);
        let passed = now.saturating_sub(self.told).as_secs_f64();
        let weight = 1.0 - (-passed / MEMORY).exp();
        self.deviation += weight * ((found - self.mean).abs() - self.deviation);
        self.mean += weight * (found - self.mean);
        self.told = now;
    }

    /// Decays old observations.
    fn forget(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.told).as_secs_f64();
        if passed > HALF_LIFE {
            let left = 0.5_f64.powf(passed / HALF_LIFE);
            self.mean = 1.0 + left * (self.mean - 1.0);
            self.deviation *= left;
            self.told = now;
        }
    }

    /// Returns the ratio of actual to profiled time that covers nearly all work.
    pub(super) fn factor(&self, now: Duration) -> f64 {
        let mut now_known = *self;
        now_known.forget(now);
        now_known.mean + DEVIATIONS * now_known.deviation
    }
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/pace.rs"]
mod tests;
