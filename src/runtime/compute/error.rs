//! What can go wrong while computing.

use thiserror::Error;

use crate::device::gpu::GpuError;

/// A network could not be run.
#[derive(Debug, Error)]
pub enum ComputeError {
    #[error("batch of {found} where the network was lowered for at most {most}")]
    BatchTooLarge { found: usize, most: usize },
    #[error("{what}: expected {expected} values, found {found}")]
    Shape {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    #[error("not enough memory: {bytes} bytes could not be allocated")]
    OutOfMemory { bytes: usize },
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("tensor operation: {0}")]
    Tensor(candle_core::Error),
}

impl From<candle_core::Error> for ComputeError {
    fn from(error: candle_core::Error) -> Self {
        ComputeError::Tensor(error)
    }
}
