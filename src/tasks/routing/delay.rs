//! The delay of answers beyond their expected time.

use std::time::Duration;

/// The relative change of an estimate with an answer.
const STEP: f64 = 0.1;
/// The half-life of an estimate while answers are in time, so that a variant that was too slow is
/// tried again.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// The maximum estimate in seconds.
const MOST: f64 = 1e3;
/// An answer that is late by less counts as in time: scheduling delays are as large.
const NOISE: Duration = Duration::from_micros(200);

/// The delay of a variant's answers beyond its profile and the work ahead.
///
/// A profile is measured on an idle device. Other programs may use its cores, and the overhead of a
/// query outside its batch is not part of the profile.
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
    /// Records an answer after `latency` that was expected after `expected`.
    pub(super) fn answered(&mut self, expected: Duration, latency: Duration) {
        self.usual.answered(expected, latency);
        self.nearly_all.answered(expected, latency);
    }

    /// Decays the estimate.
    pub(super) fn pass(&mut self, time: Duration) {
        self.usual.pass(time);
        self.nearly_all.pass(time);
    }

    /// Returns the time within which answers arrive that are expected after `expected`: 99 % or
    /// half of them.
    pub(super) fn delayed(&self, expected: Duration, by: Certainty) -> Duration {
        match by {
            Certainty::NearlyAll => self.nearly_all.delayed(expected),
            Certainty::Usual => self.usual.delayed(expected),
        }
    }
}

/// The share of answers that arrive within an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// 99 %: used to choose a variant.
    NearlyAll,
    /// Half: a query is refused if fewer answers are in time.
    Usual,
}

/// A quantile of the delay of answers, by stochastic approximation (Robbins and Monro, 1951) with
/// relative steps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DelayQuantile {
    /// The share of answers within it.
    part: f64,
    /// At least [`NOISE`], which means no delay.
    seconds: f64,
    /// Whether an answer was late since the last decay.
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
