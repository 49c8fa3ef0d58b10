//! Where playing is: a position that moves with a clock.

use std::time::Duration;

use crate::session::Pace;

/// The position in a recording, which moves with a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// The clock, and the position then.
    since: Duration,
    position: Duration,
    length: Duration,
    speed: f64,
    paused: bool,
}

impl Head {
    /// Plays from the start, from now on.
    pub(super) fn new(now: Duration, length: Duration) -> Self {
        Head {
            since: now,
            position: Duration::ZERO,
            length,
            speed: 1.0,
            paused: false,
        }
    }

    /// From the start of the recording. At the end it holds.
    pub(super) fn position(&mut self, now: Duration) -> Duration {
        if !self.paused {
            let passed = now.saturating_sub(self.since).mul_f64(self.speed);
            self.position = self.position.saturating_add(passed).min(self.length);
            self.since = now;
            self.paused = self.position == self.length;
        }
        self.position
    }

    /// How long the recording is.
    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// 1 as it was recorded.
    pub(super) fn speed(&self) -> f64 {
        self.speed
    }

    /// Whether it holds.
    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether there is no more.
    pub(super) fn is_at_end(&mut self, now: Duration) -> bool {
        self.position(now) == self.length
    }

    /// Holds, or goes on.
    pub(super) fn pause(&mut self, now: Duration, paused: bool) {
        self.position(now);
        self.since = now;
        self.paused = paused;
    }

    /// Plays so many times as fast.
    pub(super) fn set_speed(&mut self, now: Duration, speed: Pace) {
        self.position(now);
        self.speed = speed.get();
    }

    /// Goes to `position`, or to the end.
    pub(super) fn seek(&mut self, now: Duration, position: Duration) {
        self.since = now;
        self.position = position.min(self.length);
    }
}
