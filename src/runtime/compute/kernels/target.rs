//! The kernels that steps are planned for.

use super::panels::TileShape;
use super::quantized::DotKernel;
use crate::compute::precision::{CpuKernels, CpuPrecision};

/// The kernels that steps are planned for.
#[derive(Clone, Copy, Debug)]
pub(in crate::compute) struct KernelTarget {
    /// Tiles of products in float32.
    pub shape: TileShape,
    /// The kernel of products in int8, where these were asked for.
    pub dots: Option<DotKernel>,
}

impl KernelTarget {
    /// Returns the target for kernels that the processor has.
    pub(crate) fn of(kernels: CpuKernels) -> Self {
        let int8 = kernels.precision == CpuPrecision::Int8;
        KernelTarget {
            shape: TileShape::of(kernels.family),
            dots: int8.then(|| DotKernel::of(kernels.family)),
        }
    }
}
