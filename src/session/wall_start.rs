//! The time of day at which an engine started, so that times since its start have a time of day.

use std::time::Duration;

/// A larger difference means that the clock of the machine was set.
const SET: u64 = 2_000;

/// The time of day of the engine's start. It reads no clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallStart {
    /// Milliseconds of Unix time.
    started: Option<u64>,
}

impl WallStart {
    /// Returns the start in milliseconds of Unix time, if it is now `now` after the start and
    /// `unix_ms` by the clock of the machine. The result changes only if that clock was set.
    pub fn note(&mut self, now: Duration, unix_ms: u64) -> u64 {
        let since = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let found = unix_ms.saturating_sub(since);
        let kept = self.started.filter(|known| known.abs_diff(found) <= SET);
        *self.started.insert(kept.unwrap_or(found))
    }
}
