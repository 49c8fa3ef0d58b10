//! Which GPUs there are.

use std::sync::Arc;

use super::driver::Gpu;
use super::error::GpuError;
use super::info::FoundGpus;

/// Looks for GPUs.
///
/// # Errors
/// There is no driver, it is too old, or this build knows no GPUs.
pub fn find_gpus() -> Result<FoundGpus, GpuError> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::find();
    #[cfg(not(feature = "cuda"))]
    Err(GpuError::NotBuilt)
}

/// Looks at GPU number `index` alone, and touches no other.
///
/// # Errors
/// It is not there, there is no driver, it is too old, or this build knows no GPUs.
pub fn look_at(index: usize) -> Result<FoundGpus, GpuError> {
    let gpu = open(index)?;
    Ok(FoundGpus {
        usable: vec![gpu.info().clone()],
        unusable: Vec::new(),
    })
}

/// Opens GPU number `index`; the same one every time while somebody has it open.
///
/// # Errors
/// It is not there, cannot be used, or this build knows no GPUs.
pub fn open(index: usize) -> Result<Arc<dyn Gpu>, GpuError> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::open(index);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = index;
        Err(GpuError::NotBuilt)
    }
}
