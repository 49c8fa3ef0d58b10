//! What can go wrong with a GPU.

use thiserror::Error;

use crate::device::format_bytes;

/// A GPU cannot be used, or stopped working.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    #[error("this build has no support for NVIDIA GPUs: build it with `--features cuda`")]
    NotBuilt,
    #[error("no NVIDIA driver: {0}")]
    NoDriver(String),
    #[error(
        "the NVIDIA driver speaks CUDA {}.{}, expected {}.{} or newer: update the driver",
        .found.0, .found.1, .expected.0, .expected.1
    )]
    OldDriver {
        found: (u32, u32),
        expected: (u32, u32),
    },
    #[error("there is no GPU number {index}; expected {}", among(*.count))]
    Absent { index: usize, count: usize },
    #[error("GPU {index} is of compute capability {}.{}, expected {}.{} or newer", .found.0, .found.1, .expected.0, .expected.1)]
    TooOld {
        index: usize,
        found: (u32, u32),
        expected: (u32, u32),
    },
    #[error("the GPU is taken: {0}")]
    Busy(String),
    #[error("not enough memory on the GPU: {} could not be allocated", format_bytes(*.0))]
    OutOfMemory(u64),
    /// Nothing works on it any more; everything that was there is gone.
    #[error("the GPU is lost: {0}")]
    Lost(String),
    #[error("GPU: {0}")]
    Other(String),
}

impl GpuError {
    /// Whether nothing will work on the GPU any more.
    pub fn is_lost(&self) -> bool {
        matches!(self, GpuError::Lost(_))
    }
}

fn among(count: usize) -> String {
    match count {
        0 => "none, since none was found".into(),
        1 => "0".into(),
        _ => format!("0 to {}", count - 1),
    }
}
