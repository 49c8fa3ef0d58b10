//! The GPUs of a machine, as they were found.

use serde::Serialize;

use super::error::GpuError;

/// One GPU as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuInfo {
    /// Its number: `cuda:INDEX`.
    pub index: usize,
    /// As the driver names it.
    pub name: String,
    /// Bytes of its memory, all of it.
    pub memory_bytes: u64,
    /// Bytes that serving may book: what was free when it was found, less a reserve.
    pub free_bytes: u64,
    /// Compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The CUDA version that the driver speaks, as `(major, minor)`.
    pub driver: (u32, u32),
}

impl GpuInfo {
    /// Whether it is of the same model: what a batch takes there it takes here.
    pub fn is_like(&self, other: &GpuInfo) -> bool {
        let model = |i: &GpuInfo| (i.name.clone(), i.capability, i.multiprocessors);
        model(self) == model(other)
    }
}

/// The GPUs of this machine, and what is wrong with those that cannot be used.
#[derive(Clone, Debug, Default)]
pub struct FoundGpus {
    pub usable: Vec<GpuInfo>,
    pub unusable: Vec<(usize, GpuError)>,
}
