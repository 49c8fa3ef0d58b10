//! The thresholds for overload and interference, and how long these states last.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

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

/// Thresholds that cannot tell states apart.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{field}: expected {expected}, found {found}")]
pub struct ThresholdError {
    /// The field.
    pub field: &'static str,
    /// The range in words.
    pub expected: &'static str,
    /// The number found.
    pub found: f64,
}

impl ThresholdError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        "state_threshold"
    }
}

impl StateThresholds {
    /// Checks that the thresholds can tell states apart.
    ///
    /// # Errors
    /// Returns an error if one is out of range.
    pub fn check(&self) -> Result<(), ThresholdError> {
        let check = |is_sound, field, expected, found| match is_sound {
            true => Ok(()),
            false => Err(ThresholdError {
                field,
                expected,
                found,
            }),
        };
        let part = self.utilisation;
        check(
            part > 0.0 && part <= 1.0,
            "utilisation",
            "above 0, at most 1",
            part,
        )?;
        let growths = f64::from(self.growths);
        check(self.growths > 0, "growths", "at least 1", growths)?;
        check(self.calm >= 1.0, "calm", "at least 1", self.calm)?;
        let above = self.interfered > self.calm;
        check(above, "interfered", "above `calm`", self.interfered)
    }
}
