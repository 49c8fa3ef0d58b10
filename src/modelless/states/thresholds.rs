//! From where on a variant is overloaded or interfered, and how long it stays so.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// From where on a variant is overloaded or interfered, and how long it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateThresholds {
    /// The part of its places for samples in flight above which it is overloaded.
    pub utilisation: f64,
    /// The observations in a row with a longer queue after which it is overloaded.
    pub growths: u32,
    /// How many times as long as in its profile batches take where it is interfered.
    pub interfered: f64,
    /// The same below which it is calm: lower, so that it does not go back and forth.
    pub calm: f64,
    /// How long it has to be calm before it is active again.
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

/// Thresholds under which states would mean nothing.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{field}: expected {expected}, found {found}")]
pub struct ThresholdError {
    /// The field.
    pub field: &'static str,
    /// The range in words.
    pub expected: &'static str,
    /// The number.
    pub found: f64,
}

impl ThresholdError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        "state_threshold"
    }
}

impl StateThresholds {
    /// Checks that the thresholds tell states apart.
    ///
    /// # Errors
    /// One is outside of its range.
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
