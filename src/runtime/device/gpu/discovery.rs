//! Finds and opens GPUs; builds without support for GPUs say so.

use std::sync::Arc;

use super::driver::Gpu;
use super::error::GpuError;
use super::info::FoundGpus;

/// Returns the GPUs of this machine.
///
/// # Errors
/// There is no driver, it is too old, or this build has no support for GPUs.
pub fn find_gpus() -> Result<FoundGpus, GpuError> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::find();
    #[cfg(not(feature = "cuda"))]
    Err(GpuError::NotBuilt)
}

/// Returns GPU number `index` alone, without touching any other.
///
/// # Errors
/// The GPU is not there, there is no driver, it is too old, or this build has no support for
/// GPUs.
pub fn look_at(index: usize) -> Result<FoundGpus, GpuError> {
    let gpu = open(index)?;
    Ok(FoundGpus {
        usable: vec![gpu.info().clone()],
        unusable: Vec::new(),
    })
}

/// Opens GPU number `index`. While it is open, the same one is returned every time.
///
/// # Errors
/// The GPU is not there, cannot be used, or this build has no support for GPUs.
pub fn open(index: usize) -> Result<Arc<dyn Gpu>, GpuError> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::open(index);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = index;
        Err(GpuError::NotBuilt)
    }
}
