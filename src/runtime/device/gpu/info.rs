//! The GPUs of a machine, as they were found.

use serde::Serialize;

use super::error::GpuError;

/// A GPU as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuInfo {
    /// Number of the GPU: `cuda:INDEX`.
    pub index: usize,
    /// The driver's name for the model.
    pub name: String,
    /// Bytes of all of its memory.
    pub memory_bytes: u64,
    /// Bytes that serving may book: the free bytes at discovery, minus a reserve.
    pub free_bytes: u64,
    /// Compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Version of CUDA that the driver supports, as `(major, minor)`.
    pub driver: (u32, u32),
}

impl GpuInfo {
    /// Returns whether both GPUs are the same model, so that a batch takes the same time on both.
    pub fn is_like(&self, other: &GpuInfo) -> bool {
        let model = |i: &GpuInfo| (i.name.clone(), i.capability, i.multiprocessors);
        model(self) == model(other)
    }
}

/// The GPUs of this machine, and the reasons why some of them cannot be used.
#[derive(Clone, Debug, Default)]
pub struct FoundGpus {
    /// GPUs that can be used.
    pub usable: Vec<GpuInfo>,
    /// Numbers of the others, each with its reason.
    pub unusable: Vec<(usize, GpuError)>,
}
