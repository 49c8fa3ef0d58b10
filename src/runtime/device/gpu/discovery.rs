//! Finds and opens GPUs. Builds without support for GPUs return an error.

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

/// Returns only GPU number `index`, without touching other GPUs.
///
/// # Errors
/// The GPU does not exist, there is no driver, it is too old, or this build has no support for
/// GPUs.
pub fn find_gpu(index: usize) -> Result<FoundGpus, GpuError> {
    let gpu = open(index)?;
    Ok(FoundGpus {
        usable: vec![gpu.info().clone()],
        unusable: Vec::new(),
    })
}

/// Opens GPU number `index`. Returns the same GPU every time while it is open.
///
/// # Errors
/// The GPU does not exist, cannot be used, or this build has no support for GPUs.
pub fn open(index: usize) -> Result<Arc<dyn Gpu>, GpuError> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::open(index);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = index;
        Err(GpuError::NotBuilt)
    }
}
