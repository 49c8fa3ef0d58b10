//! Who watches, and how a recording is watched.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ranged::ranged;

/// Who watches a session. The one that a session of its own has is alone and edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audience {
    /// Consoles that watch, this one among them.
    pub viewers: usize,
    /// Who may change things, where somebody has taken that on: `user@terminal`.
    pub editor: Option<String>,
    /// It is this console. One whose engine is its own always edits.
    pub you_edit: bool,
    /// The engine is another process's: leaving stops nothing.
    pub attached: bool,
    /// The engine can go on serving in the background once this console leaves
    /// ([`Command::KeepServing`](super::Command::KeepServing)).
    pub may_stay: bool,
}

impl Default for Audience {
    fn default() -> Self {
        Audience {
            viewers: 1,
            editor: None,
            you_edit: true,
            attached: false,
            may_stay: false,
        }
    }
}

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

ranged! {
    /// How many times as fast as it was recorded something is played.
    Pace(f64) = 0.01, 100.0, "{} to {} times"
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

/// A recording that is being made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingView {
    /// The file that is written.
    pub path: PathBuf,
    /// Time since the engine's start.
    pub since: Duration,
    /// Bytes written.
    pub bytes: u64,
    /// Spans and states that were left out, since the disk was slower than they came.
    pub dropped: u64,
    /// Why it ended early: the disk is full, say.
    pub failed: Option<String>,
}
