//! The profile of a variant: the resources and speed of an instance.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::LatencyCurve;
use crate::quantities::{CostRate, DeviceShare, QueryRate};

/// How instances share a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceSharing {
    /// Each has a part of the device, such as cores, to itself. Its latency was measured there.
    Space,
    /// Each has the whole device for a share of the time, one batch after another. Its latency was
    /// measured on a device of its own.
    Time,
    /// As `Time`, but without reserved time: each instance counts with all of the device's time,
    /// and only memory bounds their number. INFaaS shares accelerators this way (§6.3.1) and
    /// detects interference while serving.
    Unreserved,
}

/// The profile of a variant: the measured resources and speed of an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantProfile {
    /// The latency of its batches.
    pub latency: LatencyCurve,
    /// The number of batches that run in parallel.
    pub lanes: NonZeroU32,
    /// The time from the decision to load an instance until it answers.
    pub loading: Duration,
    /// The memory of an instance at its batch size, in bytes.
    pub memory: u64,
    /// The share of a device that an instance has.
    pub share: DeviceShare,
    /// Whether the share is a part of the device or of its time.
    pub sharing: DeviceSharing,
    /// The cost of an instance while it is loaded.
    pub cost: CostRate,
}

impl DeviceSharing {
    /// Returns whether batches of all instances run one after another on the device.
    pub const fn takes_turns(self) -> bool {
        matches!(self, DeviceSharing::Time | DeviceSharing::Unreserved)
    }
}

impl VariantProfile {
    /// Returns the thousandths of a device that are reserved for an instance.
    pub fn reserved(&self) -> u16 {
        match self.sharing {
            DeviceSharing::Space | DeviceSharing::Time => self.share.get(),
            DeviceSharing::Unreserved => 0,
        }
    }

    /// Returns the rate of queries of one sample that an instance answers when all its lanes run
    /// full batches of `batch`, within its share of the time if time is shared.
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
