//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since 1970, or 0 if the clock is set to an earlier time.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    u64::try_from(millis).unwrap_or(u64::MAX)
}

/// Returns the seconds since 1970, or 0 if the clock is set to an earlier time.
pub fn unix_seconds() -> u64 {
    unix_millis() / 1000
}
