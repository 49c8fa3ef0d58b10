//! Runs networks on devices: lowered once, then run for batches of up to a largest size.
//!
//! A [`Lowered`] network holds the fused steps and folded weights, which the workers of one member
//! share. A [`Predictor`] holds the arena of one worker.

mod arena;
mod batch_arenas;
mod buffers;
pub mod calibration;
mod candle_node;
mod constants;
mod costs;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod dynamic;
mod ends;
#[cfg(test)]
#[path = "../../../tests/runtime/units/compute/exact_kernels.rs"]
mod exact_kernels;
mod family;
mod fold;
mod formed;
mod forms;
mod fuse;
pub mod gpu;
mod groups;
#[allow(unsafe_code, reason = "vectors, and threads that share one memory")]
mod kernels;
mod lowered;
mod lowering;
mod misses;
mod own_scales;
mod padding;
mod plan;
mod planned;
mod precision;
mod predictor;
mod products;
mod reduced;
pub mod reference;
mod rounded_samples;
mod rounded_sums;
mod shared;
mod tables;
mod team;
mod tensors;
mod value_numbers;
mod varying;

use thiserror::Error;

use crate::device::gpu::GpuError;
use crate::network::LengthError;

pub use costs::{Footprint, FootprintModel, footprint, work};
pub use ends::probabilities;
pub use family::{Family, KERNELS_VARIABLE, UnusableKernels};
pub use groups::{LengthCost, LengthGroup, length_groups};
pub use kernels::{activate_plainly, mapped_bytes, resize_planes};
pub use lowered::Lowered;
pub use lowering::CpuLowering;
pub use own_scales::OwnScales;
pub use padding::{PADDING_ROUNDING, check_padding, largest_difference};
pub use planned::{PlannedCost, layers_in_bytes, planned_steps};
pub use precision::{CpuKernels, CpuPrecision};
pub use predictor::{
    CpuPredictor, FakePredictor, NetworkOp, Predictor, constant_row, host_rows, read_rows,
    write_rows,
};
pub use products::{FamilySummary, ProductMethod, kernels_in_use};
pub use varying::{VaryingNetwork, VaryingPredictor};

/// A network could not be run.
#[derive(Debug, Error)]
pub enum ComputeError {
    /// The batch is larger than the allocated memory.
    #[error("a batch of {found} samples is too large; the network was lowered for at most {most}")]
    BatchTooLarge {
        /// Samples of the batch.
        found: usize,
        /// The most samples that the memory holds.
        most: usize,
    },
    /// A slice has another length than the batch needs.
    #[error("{what}: expected {expected} values, found {found}")]
    Shape {
        /// `input` or `output`.
        what: &'static str,
        /// Values that the batch needs.
        expected: usize,
        /// Values of the slice.
        found: usize,
    },
    /// The host does not have enough memory.
    #[error("not enough memory: {bytes} bytes could not be allocated")]
    OutOfMemory {
        /// The requested bytes.
        bytes: usize,
    },
    /// A network has operations that GPUs do not run.
    #[error("GPUs do not run {}", layers.join(", "))]
    NotOnGpu {
        /// The layers' names.
        layers: Vec<String>,
    },
    /// Samples vary in length, and no mask hides their padding to the largest length.
    #[error("GPUs pad samples to the largest length, which needs a mask")]
    LengthsOnGpu,
    /// There is no network for samples of a length.
    #[error("samples of length {length}: {reason}")]
    Length {
        /// The length.
        length: usize,
        /// The reason.
        reason: LengthError,
    },
    /// Answers depend on the padding that a mask should hide.
    #[error(
        "padding changes answers by {difference:.4} of the largest value, although `{mask}` is 0 \
         there; remove the mask to turn padding off"
    )]
    Padding {
        /// The mask's name.
        mask: String,
        /// The largest difference, as a share of the largest value.
        difference: f32,
    },
    /// A GPU failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An operation on Candle's tensors failed.
    #[error("tensor operation: {0}")]
    Tensor(candle_core::Error),
}

impl ComputeError {
    /// Checks the number of values of a slice.
    fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        let same = (expected == found).then_some(());
        same.ok_or(ComputeError::Shape {
            what,
            expected,
            found,
        })
    }
}

impl From<candle_core::Error> for ComputeError {
    fn from(error: candle_core::Error) -> Self {
        ComputeError::Tensor(error)
    }
}
