//! Queries of the driver about its GPUs.

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::sys::CUdevice_attribute as Attribute;
use candle_core::cuda_backend::cudarc::driver::{CudaContext, result, sys};

use crate::device::gpu::{GpuError, GpuInfo};

use super::error::{EXPECTED, gpu_error};

/// The oldest compute capability that own kernels are built for (Ampere).
const CAPABILITY: (u32, u32) = (8, 0);

/// Share of the free memory that serving may book. Libraries take memory when they are first
/// used, and other processes may start.
const SHARE: f64 = 0.92;

pub(super) fn count() -> Result<usize, GpuError> {
    let count = CudaContext::device_count().map_err(gpu_error)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// # Errors
/// There is no driver, or it is too old.
pub(super) fn check_driver() -> Result<(), GpuError> {
    result::init().map_err(|e| match gpu_error(e) {
        GpuError::Other(text) => GpuError::NoDriver(text),
        other => other,
    })?;
    let found = driver_version()?;
    match found >= EXPECTED {
        true => Ok(()),
        false => Err(GpuError::OldDriver {
            found,
            expected: EXPECTED,
        }),
    }
}

fn driver_version() -> Result<(u32, u32), GpuError> {
    let mut version = 0;
    // SAFETY: it writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .map_err(gpu_error)?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

/// # Errors
/// No GPU has this number.
pub(super) fn check_number(index: usize) -> Result<(), GpuError> {
    let count = count()?;
    match index < count {
        true => Ok(()),
        false => Err(GpuError::Absent { index, count }),
    }
}

/// # Errors
/// The GPU is too old, or the driver does not report its properties.
pub(super) fn describe(index: usize, context: &Arc<CudaContext>) -> Result<GpuInfo, GpuError> {
    let number = |attribute| {
        let value = context.attribute(attribute).map_err(gpu_error)?;
        Ok::<u32, GpuError>(u32::try_from(value).unwrap_or(0))
    };
    let capability = (
        number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    if capability < CAPABILITY {
        return Err(GpuError::TooOld {
            index,
            found: capability,
            expected: CAPABILITY,
        });
    }
    let (free, total) = context.mem_get_info().map_err(gpu_error)?;
    Ok(GpuInfo {
        index,
        name: context.name().map_err(gpu_error)?,
        memory_bytes: total as u64,
        free_bytes: (free as f64 * SHARE) as u64,
        capability,
        multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        driver: driver_version()?,
    })
}

/// Returns the GPU's place on the bus, as the management library names it, or `None` if the
/// driver does not report it.
pub(super) fn bus_id(context: &Arc<CudaContext>) -> Option<String> {
    let mut text = [0 as std::ffi::c_char; 32];
    // SAFETY: it writes at most the length given, with an end.
    let asked = unsafe {
        sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as i32, context.cu_device())
    };
    asked.result().ok()?;
    let bytes: Vec<u8> = text
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| *c as u8)
        .collect();
    String::from_utf8(bytes).ok()
}
