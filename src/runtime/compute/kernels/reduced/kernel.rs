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
    pub(crate) fn for_numbers(family: Family, numbers: ReducedNumbers) -> Self {
        match numbers {
            ReducedNumbers::Bf16 => ReducedKernel::Halves(HalfKernel::for_family(family)),
            ReducedNumbers::Bytes(numbers) => {
                ReducedKernel::Bytes(DotKernel::up_to(family, numbers.most))
            }
        }
    }

    /// Returns whether a faster kernel than this one ([`ReducedKernel::of_pairs`]) is exact for
    /// packed weights and these numbers.
    pub(crate) fn fits_pairs(self, weights: &[f32], numbers: ReducedNumbers) -> bool {
        match (self, numbers) {
            (ReducedKernel::Bytes(kernel), ReducedNumbers::Bytes(numbers)) => {
                kernel.fits_pairs(weights, numbers.most)
            }
            _ => false,
        }
    }

    /// Returns the fastest kernel for weights laid out for this one. `fit` is the result of
    /// [`ReducedKernel::fits_pairs`] for them.
    pub(crate) fn of_pairs(self, fit: bool) -> Self {
        match self {
            ReducedKernel::Bytes(kernel) => ReducedKernel::Bytes(kernel.of_pairs(fit)),
            kernel => kernel,
        }
    }

    /// Returns the shape of tiles.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            ReducedKernel::Halves(kernel) => kernel.shape(),
            ReducedKernel::Bytes(kernel) => kernel.shape(),
        }
    }

    /// Returns the number that the kernel subtracts from values before it multiplies them.
    pub(crate) fn shift(self) -> i32 {
        match self {
            ReducedKernel::Halves(_) => 0,
            ReducedKernel::Bytes(kernel) => kernel.shift(),
        }
    }

    /// Returns the speed, relative to the direct algorithm in float32, above which Winograd's
    /// algorithm replaces this kernel. Multiplying brain floats is 1.9 times as fast on a Zen 5
    /// core, and readers use their answers. With only AVX2, and if brain floats are widened,
    /// Winograd's algorithm in float32 is used whenever it is faster.
    pub(crate) fn speed(self) -> f64 {
        match self {
            ReducedKernel::Halves(kernel) if kernel.is_native() => 1.9,
            ReducedKernel::Bytes(DotKernel::Vnni | DotKernel::AvxVnni | DotKernel::NeonDot) => {
                f64::INFINITY
            }
            _ => 1.0,
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
