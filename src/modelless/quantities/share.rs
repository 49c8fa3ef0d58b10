//! The share of a device that an instance has.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::QuantityError;

/// A share of a device in thousandths, so that shares add up exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct DeviceShare(u16);

impl DeviceShare {
    /// The whole device.
    pub const WHOLE: DeviceShare = DeviceShare(1000);

    /// Creates a share from thousandths of a device.
    ///
    /// # Errors
    /// Returns an error if they are not from 1 to 1000.
    pub fn thousandths(thousandths: u16) -> Result<Self, QuantityError> {
        if (1..=1000).contains(&thousandths) {
            return Ok(DeviceShare(thousandths));
        }
        Err(QuantityError {
            quantity: "share of a device",
            range: "1 to 1000 thousandths",
            found: f64::from(thousandths),
        })
    }

    /// Returns the share in thousandths.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the share as a fraction of the device.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl TryFrom<u16> for DeviceShare {
    type Error = QuantityError;

    fn try_from(thousandths: u16) -> Result<Self, Self::Error> {
        Self::thousandths(thousandths)
    }
}

impl From<DeviceShare> for u16 {
    fn from(share: DeviceShare) -> u16 {
        share.0
    }
}

impl fmt::Display for DeviceShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", f64::from(self.0) / 10.0)
    }
}
