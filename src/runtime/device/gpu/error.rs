//! Errors of GPUs.

use thiserror::Error;

use crate::words::format_bytes;

/// A GPU cannot be used, or stopped working.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    /// This build has no support for GPUs.
    #[error("this build has no support for NVIDIA GPUs: build it with `--features cuda`")]
    NotBuilt,
    /// There is no driver; holds the message of the driver or the loader.
    #[error("no NVIDIA driver: {0}")]
    NoDriver(String),
    /// The driver is older than the version that this build needs.
    #[error(
        "the NVIDIA driver supports CUDA {}.{}, expected {}.{} or newer: update the driver",
        .found.0, .found.1, .expected.0, .expected.1
    )]
    OldDriver {
        /// Version of CUDA that the driver supports, as `(major, minor)`.
        found: (u32, u32),
        /// The oldest version that suffices.
        expected: (u32, u32),
    },
    /// No GPU has this number.
    #[error("GPU {index} does not exist; {}", expected_numbers(*.count))]
    Absent {
        /// The number.
        index: usize,
        /// How many GPUs there are.
        count: usize,
    },
    /// A GPU is older than the kernels of this build.
    #[error("GPU {index} has compute capability {}.{}, expected {}.{} or newer", .found.0, .found.1, .expected.0, .expected.1)]
    TooOld {
        /// Number of the GPU.
        index: usize,
        /// Its compute capability, as `(major, minor)`.
        found: (u32, u32),
        /// The oldest compute capability that suffices.
        expected: (u32, u32),
    },
    /// Another process uses the GPU exclusively; holds the driver's message.
    #[error("the GPU is in use: {0}")]
    Busy(String),
    /// The GPU has fewer free bytes than requested.
    #[error("not enough memory on the GPU: {} could not be allocated", format_bytes(*.0))]
    OutOfMemory(u64),
    /// Every later call fails too, and all memory on the GPU is lost; holds the driver's message.
    #[error("the GPU is lost: {0}")]
    Lost(String),
    /// Any other error; holds the message of the driver or a library.
    #[error("GPU: {0}")]
    Other(String),
}

impl GpuError {
    /// Returns whether every later call on the GPU fails too.
    pub fn is_lost(&self) -> bool {
        matches!(self, GpuError::Lost(_))
    }
}

fn expected_numbers(count: usize) -> String {
    match count {
        0 => "no GPU was found".into(),
        1 => "expected 0".into(),
        _ => format!("expected 0 to {}", count - 1),
    }
}
