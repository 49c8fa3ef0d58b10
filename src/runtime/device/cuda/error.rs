//! Errors of the driver as [`GpuError`]s.

use candle_core::cuda_backend::cudarc::driver::DriverError;
use candle_core::cuda_backend::cudarc::driver::sys::{CUDA_VERSION, CUresult};

use crate::device::gpu::GpuError;

/// The version of CUDA that this build needs: an older driver refuses its kernels.
pub(super) const EXPECTED: (u32, u32) = (CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);

/// Returns the error for a code of the driver.
pub(crate) fn gpu_error(error: DriverError) -> GpuError {
    let text = describe(error);
    match error.0 {
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            GpuError::NoDriver("libcuda.so.1 was not found or is a stub".into())
        }
        CUresult::CUDA_ERROR_NO_DEVICE => GpuError::Absent { index: 0, count: 0 },
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::OutOfMemory(0),
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => GpuError::Busy(text),
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => GpuError::Other(format!(
            "{text}: the driver is too old for this build; update it"
        )),
        code if is_sticky(code) => GpuError::Lost(text),
        _ => GpuError::Other(text),
    }
}

/// Returns whether every later call will fail too, because the context or the device is broken
/// (documentation of `CUresult`).
fn is_sticky(code: CUresult) -> bool {
    use CUresult as C;
    matches!(
        code,
        C::CUDA_ERROR_ECC_UNCORRECTABLE
            | C::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | C::CUDA_ERROR_CONTAINED
            | C::CUDA_ERROR_ILLEGAL_ADDRESS
            | C::CUDA_ERROR_LAUNCH_TIMEOUT
            | C::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | C::CUDA_ERROR_ASSERT
            | C::CUDA_ERROR_HARDWARE_STACK_ERROR
            | C::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | C::CUDA_ERROR_MISALIGNED_ADDRESS
            | C::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | C::CUDA_ERROR_INVALID_PC
            | C::CUDA_ERROR_LAUNCH_FAILED
            | C::CUDA_ERROR_EXTERNAL_DEVICE
            | C::CUDA_ERROR_DEINITIALIZED
            | C::CUDA_ERROR_UNKNOWN
    )
}

fn describe(error: DriverError) -> String {
    let name = error.error_name().ok().map(|n| n.to_string_lossy());
    let words = error.error_string().ok().map(|n| n.to_string_lossy());
    match (name, words) {
        (Some(name), Some(words)) => format!("{words} ({name})"),
        _ => format!("{:?}", error.0),
    }
}
