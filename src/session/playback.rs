//! How a recording is played: what can be asked, what is shown, and where playing is.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::ranged::ranged;

/// Where a recording that is played stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Playback {
    /// The file of the recording.
    pub path: PathBuf,
    /// From the start of the recording.
    pub position: Duration,
    /// The length of the recording.
    pub length: Duration,
    /// 1 as it was recorded.
    pub speed: f64,
    /// Whether it is paused.
    pub paused: bool,
    /// Counts the times that it went back: spans given before are of another future.
    pub epoch: u64,
}

/// A change of how a recording is played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Play {
    /// Pause (`true`) or go on (`false`).
    Pause(bool),
    /// Times as fast as it was recorded.
    Speed(Pace),
    /// To so long after its start.
    Seek(Duration),
}

ranged! {
    /// How many times as fast as it was recorded something is played.
    Pace(f64) = 0.01, 100.0, "{} to {} times"
}

/// The position in a recording, which moves with a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Playhead {
    /// The clock, and the position then.
    since: Duration,
    position: Duration,
    length: Duration,
    speed: f64,
    paused: bool,
}

impl Playhead {
    /// Plays from the start, from now on.
    pub(super) fn new(now: Duration, length: Duration) -> Self {
        Playhead {
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
