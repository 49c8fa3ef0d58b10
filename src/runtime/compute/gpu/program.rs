//! Networks lowered for a GPU, as serving uses them, and the numbers that they compute in.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compute::ComputeError;
use crate::device::gpu::{DeviceSlice, GpuInfo, Stream};
use crate::named::named;

/// A member's network on one GPU. Its weights are held once, for any number of workers and lanes.
pub trait Program: Send + Sync {
    /// Creates a lane for batches of up to `rows`, with its own stream and memory.
    ///
    /// # Errors
    /// The GPU does not have enough memory.
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError>;

    /// Returns the bytes of the weights on the GPU.
    fn weight_bytes(&self) -> u64;
}

/// A lane, which runs one batch at a time, in the order of its stream.
pub trait LaneProgram: Send {
    /// Returns the stream that batches run on.
    fn stream(&self) -> &Arc<dyn Stream>;

    /// Queues a batch of `rows` rows. `samples` are whole samples of float32 in order, which are
    /// read in place; rows beyond them (padding) repeat the last one. The slices must live until
    /// the batch is done.
    ///
    /// # Errors
    /// The batch is larger than the lane, there are no samples, or the driver reports an error.
    fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError>;

    /// Returns the memory that holds the answers of the latest batch once it is done:
    /// `[rows, outputs]` of float32.
    fn answers(&self, rows: usize) -> DeviceSlice;
}

named! {
    /// The numbers of weights and activations on a GPU. Sums are always in float32.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Precision, expected "f32, tf32, bf16 or f16" {
        /// Float32, multiplied exactly.
        #[default]
        F32 = "f32",
        /// Float32, rounded to 10 bits of mantissa before multiplications.
        Tf32 = "tf32",
        /// 8 bits of exponent, 7 of mantissa.
        Bf16 = "bf16",
        /// 5 bits of exponent, 10 of mantissa: values beyond 65504 overflow.
        F16 = "f16",
    }
}

impl Precision {
    /// Returns the bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Precision::F32 | Precision::Tf32 => 4,
            Precision::Bf16 | Precision::F16 => 2,
        }
    }

    /// Returns the numbers that a GPU multiplies natively and fast: brain floats since compute
    /// capability 8, else float32.
    pub fn native(gpu: &GpuInfo) -> Self {
        match gpu.capability {
            (8.., _) => Precision::Bf16,
            _ => Precision::F32,
        }
    }
}
