//! A way to answer a task.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::device_kind::DeviceKindIndex;
use super::indices::ModelIndex;
use super::profile::VariantProfile;
use crate::accuracy::{AccuracyEstimate, MemberSet};
use crate::quantities::{QueryCost, QueryRate};

/// The precision of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariantPrecision {
    /// Float32.
    #[serde(rename = "f32")]
    Float32,
    /// Brain floats of 16 bits.
    #[serde(rename = "bf16")]
    BrainFloat,
    /// Bytes.
    Int8,
}

impl VariantPrecision {
    /// All precisions, the highest first.
    pub const ALL: [VariantPrecision; 3] = [
        VariantPrecision::Float32,
        VariantPrecision::BrainFloat,
        VariantPrecision::Int8,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            VariantPrecision::Float32 => "f32",
            VariantPrecision::BrainFloat => "bf16",
            VariantPrecision::Int8 => "int8",
        }
    }
}

impl fmt::Display for VariantPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A way to answer a task, with its resources and accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// The ensemble or model.
    pub model: ModelIndex,
    /// The answering members.
    pub members: MemberSet,
    /// The precision.
    pub precision: VariantPrecision,
    /// The kind of device.
    pub device: DeviceKindIndex,
    /// The maximum number of samples in a batch.
    pub batch: NonZeroU32,
    /// The profile of an instance.
    pub profile: VariantProfile,
    /// The accuracy.
    pub accuracy: AccuracyEstimate,
}

impl Variant {
    /// Returns the maximum rate of an instance.
    pub fn saturation(&self) -> QueryRate {
        self.profile.saturation(self.batch)
    }

    /// Returns the 99th percentile of the latency of its full batch.
    pub fn p99(&self) -> Duration {
        self.profile.latency.p99(self.batch.get())
    }

    /// Returns the mean latency of its full batch.
    pub fn mean(&self) -> Duration {
        self.profile.latency.mean(self.batch.get())
    }

    /// Returns the cost of a query of a saturated instance.
    pub fn query_cost(&self) -> QueryCost {
        self.profile.cost.per_query(self.saturation())
    }
}
