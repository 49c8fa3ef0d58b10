//! How many times as long as expected answers take.

use std::time::Duration;

/// The part of answers that are to come within what is expected.
const IN_TIME: f64 = 0.99;
/// The part by which the estimate rises with a late answer.
const STEP: f64 = 0.1;
/// The time in which the estimate falls to half where nothing is answered: a variant that was too slow
/// to be chosen is tried again.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// The most that is believed.
const MOST: f64 = 1e4;
/// An answer that is late by less is in time: it was measured by other threads' turns.
const NOISE: Duration = Duration::from_micros(200);

/// How many times as long as by its profile and the work ahead of it the answers of a variant take: a
/// quantile by stochastic approximation (Robbins and Monro, 1951), in steps that are parts of it.
///
/// A profile is that of a device that has nothing else to do. Others may use its cores, and what every
/// query takes beside its batch is in none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObservedSlowdown {
    factor: f64,
}

impl Default for ObservedSlowdown {
    fn default() -> Self {
        ObservedSlowdown { factor: 1.0 }
    }
}

impl ObservedSlowdown {
    /// Takes an answer that came after `latency` where it was expected after `expected`.
    pub(super) fn answered(&mut self, expected: Duration, latency: Duration) {
        let is_late = latency > self.stretched(expected).saturating_add(NOISE);
        let step = match is_late {
            true => STEP * IN_TIME,
            false => STEP * (IN_TIME - 1.0),
        };
        self.factor = (self.factor * (1.0 + step)).clamp(1.0, MOST);
    }

    /// Forgets as much as time lets it.
    pub(super) fn pass(&mut self, time: Duration) {
        let halves = time.as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.factor = (self.factor * 0.5_f64.powf(halves)).max(1.0);
    }

    /// Returns the time in which an answer comes that is expected after `expected`.
    pub(super) fn stretched(&self, expected: Duration) -> Duration {
        let seconds = expected.as_secs_f64() * self.factor;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}
