//! The service objective that latencies are judged by.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ranged::{FieldOutOfRange, checked_when_read, within};

/// A service objective: requests are to be answered within this time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Target {
    /// The latency that is not to be exceeded.
    pub latency: Duration,
    /// Share of requests that has to be, 0 to 1.
    pub share: f64,
}

checked_when_read!(Target);

impl Target {
    /// Latencies that can be asked for: up to an hour.
    pub const LATENCY: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(3600));

    /// Whether it can be met at all.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self) -> Result<(), FieldOutOfRange> {
        let (least, most) = Self::LATENCY;
        within("latency", self.latency, least, most)?;
        within("share", self.share, 0.0, 1.0)
    }
}
