//! How many times as long as expected answers take.

use std::time::Duration;

/// The part by which an estimate rises or falls with an answer.
const STEP: f64 = 0.1;
/// The time in which an estimate falls to half while no answer is late: a variant that was too slow to be
/// chosen is tried again.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// The most that is believed.
const MOST: f64 = 1e4;
/// An answer that is late by less is in time: it was measured by other threads' turns.
const NOISE: Duration = Duration::from_micros(200);

/// How many times as long as by its profile and the work ahead of it the answers of a variant take.
///
/// A profile is that of a device that has nothing else to do. Others may use its cores, and what every
/// query takes beside its batch is in none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObservedSlowdown {
    usual: SlowdownQuantile,
    nearly_all: SlowdownQuantile,
}

impl Default for ObservedSlowdown {
    fn default() -> Self {
        let of = |part| SlowdownQuantile {
            part,
            factor: 1.0,
            was_late: false,
        };
        ObservedSlowdown {
            usual: of(0.5),
            nearly_all: of(0.99),
        }
    }
}

impl ObservedSlowdown {
    /// Takes an answer that came after `latency` where it was expected after `expected`.
    pub(super) fn answered(&mut self, expected: Duration, latency: Duration) {
        self.usual.answered(expected, latency);
        self.nearly_all.answered(expected, latency);
    }

    /// Takes a query that was given up after `waited`, where that is late.
    pub(super) fn given_up(&mut self, expected: Duration, waited: Duration) {
        if waited > expected {
            self.answered(expected, waited);
        }
    }

    /// Forgets as much as time lets it.
    pub(super) fn pass(&mut self, time: Duration) {
        self.usual.pass(time);
        self.nearly_all.pass(time);
    }

    /// Returns the time within which answers come that are expected after `expected`: 99 % of them, or
    /// the half.
    pub(super) fn stretched(&self, expected: Duration, by: Certainty) -> Duration {
        match by {
            Certainty::NearlyAll => self.nearly_all.stretched(expected),
            Certainty::Usual => self.usual.stretched(expected),
        }
    }
}

/// How many answers come in time where it is said that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// 99 %: a variant is chosen by it.
    NearlyAll,
    /// The half: where fewer do, a query is refused.
    Usual,
}

/// A quantile of how many times as long as expected answers take, by stochastic approximation (Robbins
/// and Monro, 1951) in steps that are parts of it; at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SlowdownQuantile {
    /// The part of answers that are within it.
    part: f64,
    factor: f64,
    /// Whether an answer was late since time last passed.
    was_late: bool,
}

impl SlowdownQuantile {
    fn answered(&mut self, expected: Duration, latency: Duration) {
        let is_late = latency > self.stretched(expected).saturating_add(NOISE);
        self.was_late |= is_late;
        let step = match is_late {
            true => STEP * self.part,
            false => STEP * (self.part - 1.0),
        };
        self.factor = (self.factor * (1.0 + step)).clamp(1.0, MOST);
    }

    fn pass(&mut self, time: Duration) {
        if std::mem::take(&mut self.was_late) {
            return;
        }
        let halves = time.as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.factor = (self.factor * 0.5_f64.powf(halves)).max(1.0);
    }

    fn stretched(&self, expected: Duration) -> Duration {
        let seconds = expected.as_secs_f64() * self.factor;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}
