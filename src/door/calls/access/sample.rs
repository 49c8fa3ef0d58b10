//! Limits the number of calls in the access log.

use std::time::Duration;

/// Admits a number of calls per second, with a burst of the same number after a second without
/// calls. A state machine without clock or lock.
#[derive(Clone, Debug)]
pub struct RateSampler {
    /// Calls per second; `None` for all.
    rate: Option<f64>,
    room: f64,
    at: Duration,
    left_out: u64,
}

impl RateSampler {
    /// Admits `rate` calls per second, or all for `None`.
    pub fn new(rate: Option<u32>) -> Self {
        let rate = rate.map(f64::from);
        RateSampler {
            rate,
            room: rate.unwrap_or(0.0),
            at: Duration::ZERO,
            left_out: 0,
        }
    }

    /// Returns the number of calls left out before the call at `now` if it is admitted, or `None`
    /// if it is left out too.
    pub fn admit(&mut self, now: Duration) -> Option<u64> {
        let Some(rate) = self.rate else {
            return Some(0);
        };
        let passed = now.saturating_sub(self.at);
        self.at = now.max(self.at);
        self.room = (self.room + rate * passed.as_secs_f64()).min(rate);
        if self.room < 1.0 {
            self.left_out += 1;
            return None;
        }
        self.room -= 1.0;
        Some(std::mem::take(&mut self.left_out))
    }
}
