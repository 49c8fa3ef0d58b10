//! The playback of a recording: commands, state and position.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::ranged::ranged;

/// The state of a playback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Playback {
    /// The file of the recording.
    pub path: PathBuf,
    /// The position, from the start of the recording.
    pub position: Duration,
    /// The length of the recording.
    pub length: Duration,
    /// The speed; 1 is the recorded speed.
    pub speed: f64,
    /// Whether it is paused.
    pub paused: bool,
    /// Counts the seeks backwards: spans returned before are then invalid.
    pub epoch: u64,
}

/// A change of the playback.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Play {
    /// Pause (`true`) or resume (`false`).
    Pause(bool),
    /// Set the speed, relative to the recorded speed.
    Speed(Pace),
    /// Seek to this time after the start.
    Seek(Duration),
}

ranged! {
    /// The speed of a playback relative to the recorded speed.
    Pace(f64) = 0.01, 100.0, "{} to {} times"
}

/// The position in a recording, which moves with a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Playhead {
    /// The clock time and the position at that time.
    since: Duration,
    position: Duration,
    length: Duration,
    speed: f64,
    paused: bool,
}

impl Playhead {
    /// Starts playing at the start of the recording.
    pub(super) fn new(now: Duration, length: Duration) -> Self {
        Playhead {
            since: now,
            position: Duration::ZERO,
            length,
            speed: 1.0,
            paused: false,
        }
    }

    /// Returns the position from the start of the recording. It stops at the end.
    pub(super) fn position(&mut self, now: Duration) -> Duration {
        if !self.paused {
            let passed = now.saturating_sub(self.since).mul_f64(self.speed);
            self.position = self.position.saturating_add(passed).min(self.length);
            self.since = now;
            self.paused = self.position == self.length;
        }
        self.position
    }

    /// Returns the length of the recording.
    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// The speed; 1 is the recorded speed.
    pub(super) fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns whether playback is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns whether playback has reached the end.
    pub(super) fn is_at_end(&mut self, now: Duration) -> bool {
        self.position(now) == self.length
    }

    /// Pauses or resumes.
    pub(super) fn pause(&mut self, now: Duration, paused: bool) {
        self.position(now);
        self.since = now;
        self.paused = paused;
    }

    /// Sets the speed.
    pub(super) fn set_speed(&mut self, now: Duration, speed: Pace) {
        self.position(now);
        self.speed = speed.get();
    }

    /// Seeks to `position`, or to the end.
    pub(super) fn seek(&mut self, now: Duration, position: Duration) {
        self.since = now;
        self.position = position.min(self.length);
    }
}
