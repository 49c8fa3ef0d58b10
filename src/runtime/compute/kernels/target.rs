//! The kernels that steps are planned for.

use super::dots::{DotKernel, HalfKernel};
use super::panels::TileShape;
use crate::compute::precision::{CpuKernels, CpuPrecision};
use crate::compute::reduced::ReducedNumbers;

/// The kernels that steps are planned for.
#[derive(Clone, Copy, Debug)]
pub(in crate::compute) struct KernelTarget {
    /// Tiles of products in float32.
    pub shape: TileShape,
    /// The kernel of products in int8, where these were asked for.
    pub dots: Option<DotKernel>,
    /// The kernel of products of brain floats, where these were asked for.
    pub halves: Option<HalfKernel>,
}

impl KernelTarget {
    /// Returns the target for kernels that the processor has.
    pub(crate) fn of(kernels: CpuKernels) -> Self {
        let asked = |precision| kernels.precision == precision;
        KernelTarget {
            shape: TileShape::of(kernels.family),
            dots: asked(CpuPrecision::Int8).then(|| DotKernel::of(kernels.family)),
            halves: asked(CpuPrecision::Bf16).then(|| HalfKernel::of(kernels.family)),
        }
    }

    /// Returns the numbers that values may lie as from one product to the next, or `None` for floats
    /// alone.
    pub(crate) fn reduced_numbers(self) -> Option<ReducedNumbers> {
        self.halves.map(|_| ReducedNumbers::Bf16)
    }
}
