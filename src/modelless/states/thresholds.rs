//! The thresholds for overload and interference, and how long these states last.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The thresholds for overload and interference, and how long these states last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateThresholds {
    /// The share of its places for samples in flight above which a variant is overloaded.
    pub utilisation: f64,
    /// The number of consecutive observations with a growing queue after which a variant is
    /// overloaded.
    pub growths: u32,
    /// The slowdown relative to its profile above which a variant suffers interference.
    pub interfered: f64,
    /// The slowdown below which interference is over: lower, to prevent oscillation.
    pub calm: f64,
    /// How long a variant must be calm before it is active again.
    pub hold_off: Duration,
}

impl Default for StateThresholds {
    fn default() -> Self {
        StateThresholds {
            utilisation: 0.8,
            growths: 3,
            interfered: 1.5,
            calm: 1.25,
            hold_off: Duration::from_secs(2),
        }
    }
}
