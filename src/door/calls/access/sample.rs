//! Which calls are written to the access log when there are many.

use std::time::Duration;

/// Lets so many calls a second through, and as many at once after a second of rest. A state machine
/// without clock and lock.
#[derive(Clone, Debug)]
pub struct RateSampler {
    /// Calls a second; `None` for all.
    rate: Option<f64>,
    room: f64,
    at: Duration,
    left_out: u64,
}

impl RateSampler {
    /// Lets `rate` calls a second through, `None` for all.
    pub fn new(rate: Option<u32>) -> Self {
        let rate = rate.map(f64::from);
        RateSampler {
            rate,
            room: rate.unwrap_or(0.0),
            at: Duration::ZERO,
            left_out: 0,
        }
    }

    /// Returns how many calls were left out before one at `now` that is let through, or `None` if
    /// it is left out, too.
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
