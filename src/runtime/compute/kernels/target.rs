//! The kernels that steps are planned for.

use super::dots::DotKernel;
use super::panels::TileShape;
use crate::compute::family::Family;
use crate::compute::precision::{CpuKernels, CpuPrecision};

/// The kernels that steps are planned for.
#[derive(Clone, Copy, Debug)]
pub(in crate::compute) struct KernelTarget {
    /// Tiles of products in float32.
    pub shape: TileShape,
    pub family: Family,
    /// The requested numbers.
    pub precision: CpuPrecision,
    /// The kernel of products of bytes by ranges that are found as values come, if requested.
    pub dots: Option<DotKernel>,
}

impl KernelTarget {
    /// Returns the target for kernels that the processor has.
    pub(crate) fn for_kernels(kernels: CpuKernels) -> Self {
        let int8 = kernels.precision == CpuPrecision::Int8;
        KernelTarget {
            shape: TileShape::for_family(kernels.family),
            family: kernels.family,
            precision: kernels.precision,
            dots: int8.then(|| DotKernel::for_family(kernels.family)),
        }
    }

    /// Returns whether instructions multiply bytes faster than floats.
    pub(crate) fn multiplies_bytes(self) -> bool {
        DotKernel::for_family(self.family) != DotKernel::Plain
    }

    /// Returns the same without ranges that are found as values come.
    pub(crate) fn calibrated(self) -> Self {
        KernelTarget { dots: None, ..self }
    }
}
