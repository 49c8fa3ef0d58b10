//! The numbers that a network is computed in on processors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::family::Family;

/// The numbers of products on processors. All else is float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuPrecision {
    /// Float32.
    #[default]
    F32,
    /// Brain floats, with 8 bits of precision, for the values and weights of products, which are
    /// summed in float32, and for values passed from one product to the next.
    Bf16,
    /// Whole numbers of 8 bits, summed in 32, for products that are expected to be faster this way.
    /// Weights have a scale for each output channel. Values have a scale by their range in each
    /// sample, or in each row of values if windows have one pixel.
    Int8,
}

impl CpuPrecision {
    /// All precisions.
    pub const ALL: [CpuPrecision; 3] = [CpuPrecision::F32, CpuPrecision::Bf16, CpuPrecision::Int8];

    /// Returns the name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            CpuPrecision::F32 => "f32",
            CpuPrecision::Bf16 => "bf16",
            CpuPrecision::Int8 => "int8",
        }
    }
}

impl fmt::Display for CpuPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CpuPrecision {
    type Err = CpuPrecisionError;

    fn from_str(text: &str) -> Result<Self, CpuPrecisionError> {
        let found = CpuPrecision::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| CpuPrecisionError {
            found: text.to_owned(),
        })
    }
}

/// A text names no [`CpuPrecision`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected f32, bf16 or int8, found `{found}`")]
pub struct CpuPrecisionError {
    found: String,
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
