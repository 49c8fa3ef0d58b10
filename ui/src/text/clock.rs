//! Times of day in the zone of this machine.

use std::time::Duration;

use divisi_session::Snapshot;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A zone in which times of day are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WallClock {
    zone: TimeZone,
}

impl Default for WallClock {
    /// Returns a clock in UTC.
    fn default() -> Self {
        WallClock {
            zone: TimeZone::UTC,
        }
    }
}

impl WallClock {
    /// Returns a clock in the zone of this machine.
    pub fn of_system() -> Self {
        WallClock {
            zone: TimeZone::system(),
        }
    }

    /// Formats a time of day: `14:03:22`. The time is in milliseconds of Unix time.
    pub fn time(&self, unix_ms: u64) -> String {
        self.format(unix_ms, "%H:%M:%S")
    }

    /// Formats a time of day without seconds: `14:03`.
    pub fn minute(&self, unix_ms: u64) -> String {
        self.format(unix_ms, "%H:%M")
    }

    /// Formats a date and a time of day: `Dec 01 14:03`.
    pub fn day(&self, unix_ms: u64) -> String {
        self.format(unix_ms, "%b %d %H:%M")
    }

    /// Formats the time of day of a time since the engine's start, or returns `None` if its start is
    /// unknown.
    pub fn at(&self, shown: &Snapshot, at: Duration) -> Option<String> {
        shown.unix_ms(at).map(|ms| self.time(ms))
    }

    /// Returns the milliseconds by which this zone is ahead of UTC at a time.
    pub fn offset_ms(&self, unix_ms: u64) -> i64 {
        let offset = instant(unix_ms).map(|at| self.zone.to_offset(at).seconds());
        i64::from(offset.unwrap_or_default()) * 1000
    }

    fn format(&self, unix_ms: u64, form: &str) -> String {
        let at = instant(unix_ms).map(|at| at.to_zoned(self.zone.clone()));
        at.map_or(String::new(), |at| at.strftime(form).to_string())
    }
}

/// Returns the instant, or `None` if it is too far in the future.
fn instant(unix_ms: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(unix_ms).ok()?).ok()
}
