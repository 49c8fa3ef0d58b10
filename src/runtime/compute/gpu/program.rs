//! A network lowered for a GPU, as serving uses it, and the numbers that it computes in.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::compute::error::ComputeError;
use crate::device::gpu::{DeviceSlice, Stream};

/// A member's network on one GPU: its weights are there once, whatever the number of
/// workers and lanes.
pub trait Program: Send + Sync {
    /// A lane for batches of up to `rows`: its own stream, its own memory.
    ///
    /// # Errors
    /// The GPU cannot hold it.
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError>;

    /// Bytes of the weights on the GPU.
    fn weight_bytes(&self) -> u64;
}

/// One lane: runs one batch at a time, in the order of its stream.
pub trait LaneProgram: Send {
    /// The stream that batches run on.
    fn stream(&self) -> &Arc<dyn Stream>;

    /// Queues a batch of `rows` rows. `samples` are whole samples of float32 as the
    /// network takes them, in order, read where they lie; rows beyond them (padding)
    /// repeat the last one. The slices must live until the batch is done.
    ///
    /// # Errors
    /// The batch is larger than the lane, there is no sample, or the driver refuses.
    fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError>;

    /// Where the answers of the latest batch lie once it is done: `[rows, outputs]` of
    /// float32.
    fn answers(&self, rows: usize) -> DeviceSlice;
}

/// Numbers of weights and activations on a GPU. Sums are in float32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Float32, multiplied exactly.
    #[default]
    F32,
    /// Float32 whose products are of numbers rounded to 10 bits of mantissa.
    Tf32,
    /// 8 bits of exponent, 7 of mantissa.
    Bf16,
    /// 5 bits of exponent, 10 of mantissa: values beyond 65504 overflow.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 4] = [
        Precision::F32,
        Precision::Tf32,
        Precision::Bf16,
        Precision::F16,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
            Precision::F16 => "f16",
        }
    }

    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Precision::F32 | Precision::Tf32 => 4,
            Precision::Bf16 | Precision::F16 => 2,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = PrecisionError;

    fn from_str(text: &str) -> Result<Self, PrecisionError> {
        let found = Precision::ALL.into_iter().find(|p| p.name() == text);
        found.ok_or_else(|| PrecisionError {
            found: text.to_owned(),
        })
    }
}

/// A text that names no [`Precision`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected f32, tf32, bf16 or f16, found `{found}`")]
pub struct PrecisionError {
    found: String,
}
