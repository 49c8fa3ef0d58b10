//! One way to answer a task.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::device_kind::DeviceKindIndex;
use super::indices::ModelIndex;
use super::profile::VariantProfile;
use crate::accuracy::{AccuracyEstimate, MemberSet};
use crate::quantities::{QueryCost, QueryRate};

/// The numbers that a variant computes in.
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

impl fmt::Display for VariantPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VariantPrecision::Float32 => "f32",
            VariantPrecision::BrainFloat => "bf16",
            VariantPrecision::Int8 => "int8",
        })
    }
}

/// One way to answer a task, with what it takes and how often it is right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// The ensemble or model that it is made of.
    pub model: ModelIndex,
    /// The members that answer.
    pub members: MemberSet,
    /// The numbers that it computes in.
    pub precision: VariantPrecision,
    /// The kind of device that it runs on.
    pub device: DeviceKindIndex,
    /// The most samples of a batch.
    pub batch: NonZeroU32,
    /// The profile of an instance.
    pub profile: VariantProfile,
    /// How often it is right.
    pub accuracy: AccuracyEstimate,
}

impl Variant {
    /// Returns the queries that an instance answers a second at most.
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

    /// Returns the cost of a query where an instance is saturated.
    pub fn query_cost(&self) -> QueryCost {
        self.profile.cost.each(self.saturation())
    }
}
