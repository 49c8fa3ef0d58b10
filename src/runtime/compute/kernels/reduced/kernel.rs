//! The kernels of reduced numbers.

use super::super::dots::{DotKernel, HalfKernel};
use super::super::panels::TileShape;
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;

/// The kernel that multiplies reduced numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) enum ReducedKernel {
    /// One of brain floats.
    Halves(HalfKernel),
    /// One of bytes.
    Bytes(DotKernel),
}

impl ReducedKernel {
    /// Returns the fastest kernel for these numbers on a processor that has the instructions of
    /// `family`.
    pub(crate) fn of(family: Family, numbers: ReducedNumbers) -> Self {
        match numbers {
            ReducedNumbers::Bf16 => ReducedKernel::Halves(HalfKernel::of(family)),
            ReducedNumbers::Bytes(numbers) => {
                ReducedKernel::Bytes(DotKernel::up_to(family, numbers.most))
            }
        }
    }

    /// Returns the shape of tiles.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            ReducedKernel::Halves(kernel) => kernel.shape(),
            ReducedKernel::Bytes(kernel) => kernel.shape(),
        }
    }

    /// Whether it is expected to be faster than Winograd's algorithm in float32, where that is faster
    /// than multiplying directly: with AVX2 alone it is not, nor where brain floats are widened.
    pub(crate) fn outruns_winograd(self) -> bool {
        match self {
            ReducedKernel::Halves(kernel) => kernel.is_native(),
            ReducedKernel::Bytes(kernel) => {
                !matches!(kernel, DotKernel::Avx2 | DotKernel::Avx2Wide)
            }
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReducedKernel::Halves(_) => "bf16",
            ReducedKernel::Bytes(_) => "int8, static",
        }
    }
}
