//! The profile of a variant: what an instance takes and does.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::LatencyCurve;
use crate::quantities::{CostRate, DeviceShare, QueryRate};

/// How instances share a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceSharing {
    /// Each has its part of the device, such as cores, to itself. Its latency was measured there.
    Space,
    /// Each has the whole device for its part of the time, one batch after another. Its latency
    /// was measured on a device of its own.
    Time,
    /// As by time, but no time is reserved: each is counted with all of the device's, and memory
    /// alone bounds how many there are. So INFaaS shares accelerators (§6.3.1); that they disturb
    /// each other is found out while they do.
    Unreserved,
}

/// The profile of a variant: what an instance takes and does, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantProfile {
    /// The latency of its batches.
    pub latency: LatencyCurve,
    /// How many batches run side by side.
    pub lanes: NonZeroU32,
    /// The time from the decision to load it until it answers.
    pub loading: Duration,
    /// The memory that it takes at its batch size, in bytes.
    pub memory: u64,
    /// The share of a device that it takes.
    pub share: DeviceShare,
    /// Whether that share is of the device's parts or of its time.
    pub sharing: DeviceSharing,
    /// The cost of an instance while it is loaded.
    pub cost: CostRate,
}

impl DeviceSharing {
    /// Whether batches of all instances run one after another on the device.
    pub const fn takes_turns(self) -> bool {
        matches!(self, DeviceSharing::Time | DeviceSharing::Unreserved)
    }
}

impl VariantProfile {
    /// Returns the thousandths of a device that nothing else can have beside an instance.
    pub fn reserved(&self) -> u16 {
        match self.sharing {
            DeviceSharing::Space | DeviceSharing::Time => self.share.get(),
            DeviceSharing::Unreserved => 0,
        }
    }

    /// Returns the queries of one sample that an instance answers a second where all its lanes
    /// run full batches of `batch`, in its share of the time where time is shared.
    pub fn saturation(&self, batch: NonZeroU32) -> QueryRate {
        let samples = f64::from(batch.get()) * f64::from(self.lanes.get());
        let time = match self.sharing {
            DeviceSharing::Space | DeviceSharing::Unreserved => 1.0,
            DeviceSharing::Time => self.share.fraction(),
        };
        let rate = time * samples / self.latency.mean(batch.get()).as_secs_f64();
        QueryRate::new(rate.min(1e9)).unwrap_or(QueryRate::ZERO)
    }
}
