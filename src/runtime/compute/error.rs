//! Errors of computing.

use thiserror::Error;

use crate::device::gpu::GpuError;

/// A network could not be run.
#[derive(Debug, Error)]
pub enum ComputeError {
    /// The batch is larger than the memory that was taken for it.
    #[error("batch of {found} where the network was lowered for at most {most}")]
    BatchTooLarge {
        /// Samples of the batch.
        found: usize,
        /// The most samples that there is memory for.
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
    /// The host has not enough memory.
    #[error("not enough memory: {bytes} bytes could not be allocated")]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// A GPU failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An operation on Candle's tensors failed.
    #[error("tensor operation: {0}")]
    Tensor(candle_core::Error),
}

impl From<candle_core::Error> for ComputeError {
    fn from(error: candle_core::Error) -> Self {
        ComputeError::Tensor(error)
    }
}
