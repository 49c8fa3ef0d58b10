//! What an instance of a variant takes and does.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::LatencyCurve;
use crate::quantities::{CostRate, DeviceShare, QueryRate};

/// What an instance of a variant takes and does, as it was measured.
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
    /// The cost of an instance while it is loaded.
    pub cost: CostRate,
}

impl VariantProfile {
    /// Returns the queries of one sample that an instance answers a second where all its lanes
    /// run full batches of `batch`.
    pub fn saturation(&self, batch: NonZeroU32) -> QueryRate {
        let samples = f64::from(batch.get()) * f64::from(self.lanes.get());
        let rate = samples / self.latency.mean(batch.get()).as_secs_f64();
        QueryRate::new(rate.min(1e9)).unwrap_or(QueryRate::ZERO)
    }
}
