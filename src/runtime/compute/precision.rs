//! The numbers that a network is computed in on processors.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::family::Family;
use crate::named::named;

named! {
    /// The numbers of products on processors. All else is float32.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CpuPrecision, expected "f32, bf16 or int8" {
        /// Float32.
        #[default]
        F32 = "f32",
        /// Brain floats, with 8 bits of precision, for the values and weights of products, which
        /// are summed in float32, and for values passed from one product to the next.
        Bf16 = "bf16",
        /// Whole numbers of 8 bits, summed in 32, for products that are expected to be faster this
        /// way. Weights have a scale for each output channel. Values have a scale by their range
        /// in each sample, or in each row of values if windows have one pixel.
        Int8 = "int8",
    }
}

/// The kernels that a network is lowered for: a family, and the numbers that it multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpuKernels {
    /// The family of kernels.
    pub family: Family,
    /// The numbers of products.
    pub precision: CpuPrecision,
}

impl CpuKernels {
    /// Returns the same, or plain kernels if the processor lacks the family's instructions.
    pub(super) fn usable(self) -> Self {
        let family = match self.family.is_available() {
            true => self.family,
            false => Family::Plain,
        };
        CpuKernels { family, ..self }
    }
}

impl From<Family> for CpuKernels {
    /// Returns a family's kernels for float32.
    fn from(family: Family) -> Self {
        CpuKernels {
            family,
            precision: CpuPrecision::F32,
        }
    }
}

impl fmt::Display for CpuKernels {
    /// Writes the family, and the precision if that is not float32.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.precision {
            CpuPrecision::F32 => write!(f, "{}", self.family),
            other => write!(f, "{} {other}", self.family),
        }
    }
}
