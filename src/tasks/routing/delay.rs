//! How much later than expected answers come.

use std::time::Duration;

/// The part by which an estimate rises or falls with an answer.
const STEP: f64 = 0.1;
/// The time in which an estimate falls to half while no answer is late: a variant that was too slow to be
/// chosen is tried again.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// The most that is believed, in seconds.
const MOST: f64 = 1e3;
/// An answer that is late by less counts as in time: other threads' turns cost as much.
const NOISE: Duration = Duration::from_micros(200);

/// How much later than by its profile and the work ahead of it the answers of a variant come.
///
/// A profile is that of a device that has nothing else to do. Others may use its cores, and what every
/// query takes beside its batch is in none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObservedDelay {
    usual: DelayQuantile,
    nearly_all: DelayQuantile,
}

impl Default for ObservedDelay {
    fn default() -> Self {
        let of = |part| DelayQuantile {
            part,
            seconds: NOISE.as_secs_f64(),
            was_late: false,
        };
        ObservedDelay {
            usual: of(0.5),
            nearly_all: of(0.99),
        }
    }
}

impl ObservedDelay {
    /// Takes an answer that came after `latency` where it was expected after `expected`.
    pub(super) fn answered(&mut self, expected: Duration, latency: Duration) {
        self.usual.answered(expected, latency);
        self.nearly_all.answered(expected, latency);
    }

    /// Forgets as much as time lets it.
    pub(super) fn pass(&mut self, time: Duration) {
        self.usual.pass(time);
        self.nearly_all.pass(time);
    }

    /// Returns the time within which answers come that are expected after `expected`: 99 % of them, or
    /// the half.
    pub(super) fn delayed(&self, expected: Duration, by: Certainty) -> Duration {
        match by {
            Certainty::NearlyAll => self.nearly_all.delayed(expected),
            Certainty::Usual => self.usual.delayed(expected),
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

/// A quantile of how much later than expected answers come, by stochastic approximation (Robbins and
/// Monro, 1951) in steps that are parts of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DelayQuantile {
    /// The part of answers that are within it.
    part: f64,
    /// At least [`NOISE`], which is none.
    seconds: f64,
    /// Whether an answer was late since time last passed.
    was_late: bool,
}

impl DelayQuantile {
    fn answered(&mut self, expected: Duration, latency: Duration) {
        let is_late = latency.saturating_sub(expected).as_secs_f64() > self.seconds;
        self.was_late |= is_late;
        let step = match is_late {
            true => STEP * self.part,
            false => STEP * (self.part - 1.0),
        };
        self.seconds = (self.seconds * (1.0 + step)).clamp(NOISE.as_secs_f64(), MOST);
    }

    fn pass(&mut self, time: Duration) {
        if std::mem::take(&mut self.was_late) {
            return;
        }
        let halves = time.as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds = (self.seconds * 0.5_f64.powf(halves)).max(NOISE.as_secs_f64());
    }

    fn delayed(&self, expected: Duration) -> Duration {
        let delay = Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX);
        match delay > NOISE {
            true => expected.saturating_add(delay),
            false => expected,
        }
    }
}
