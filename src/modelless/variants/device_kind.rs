//! Kinds of devices, as far as decisions know them: a price and what there is to share.

use serde::{Deserialize, Serialize};

use crate::quantities::{CostRate, DeviceShare};

/// The place of a kind of device in a catalogue's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceKindIndex(pub u16);

/// A kind of device with its price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricedDevice {
    /// Its name, as it is shown.
    pub name: String,
    /// The price of a whole device.
    pub price: CostRate,
    /// The memory of a device, in bytes.
    pub memory: u64,
}

impl PricedDevice {
    /// Returns the cost of an instance: the price times the share of the device that it takes.
    pub fn cost(&self, share: DeviceShare) -> CostRate {
        let cost = self.price.get() * share.fraction();
        CostRate::new(cost).unwrap_or(self.price)
    }
}
