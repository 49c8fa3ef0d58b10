//! Kinds of devices as decisions use them: a price and the resources to share.

use serde::{Deserialize, Serialize};

use crate::quantities::{CostRate, DeviceShare};

/// The index of a kind of device in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceKindIndex(pub u16);

/// A kind of device with its price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricedDevice {
    /// Its displayed name.
    pub name: String,
    /// The price of a whole device.
    pub price: CostRate,
    /// The memory of a device, in bytes.
    pub memory: u64,
}

impl PricedDevice {
    /// Returns the cost of an instance: the price times its share of the device.
    pub fn cost(&self, share: DeviceShare) -> CostRate {
        let cost = self.price.get() * share.fraction();
        CostRate::new(cost).unwrap_or(self.price)
    }
}
