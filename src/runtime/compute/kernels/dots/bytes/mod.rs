//! Products of bytes, four to a sum, once for each kind of instructions.

#[cfg(target_arch = "aarch64")]
pub(in super::super) mod arm;
mod pairs;
#[cfg(target_arch = "x86_64")]
pub(in super::super) mod x86;

use super::super::panels::TileShape;
use super::super::vector::Plain;
use super::{DotVector, WholeDot};
use crate::compute::family::Family;
use pairs::pairs_fit;

/// The instructions that multiply bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) enum DotKernel {
    /// AVX-512 with VNNI: 64 products an instruction.
    Vnni,
    /// AVX-VNNI: 32 products an instruction.
    AvxVnni,
    /// AVX2: products of bytes are added in pairs of 16 bits, and these in pairs of 32. Exact for
    /// values up to 127, and for larger ones if weights are small enough.
    Avx2,
    /// AVX2: bytes are widened to 16 bits. Exact for all.
    Avx2Wide,
    /// NEON with DotProd: 16 products an instruction.
    NeonDot,
    /// NEON: products of bytes are added in pairs of 16 bits, and these in pairs of 32. Exact for
    /// all.
    Neon,
    /// No particular instructions.
    Plain,
}

impl DotKernel {
    /// Returns the fastest kernel for a processor that has the instructions of `family`.
    pub(crate) fn for_family(family: Family) -> Self {
        match family {
            Family::Avx512 if has_vnni() => DotKernel::Vnni,
            Family::Avx2Vnni if family.is_available() => DotKernel::AvxVnni,
            Family::Avx512 | Family::Avx2 if Family::Avx2.is_available() => DotKernel::Avx2,
            Family::NeonDot if family.is_available() => DotKernel::NeonDot,
            Family::Neon if family.is_available() => DotKernel::Neon,
            _ => DotKernel::Plain,
        }
    }

    /// Returns the fastest kernel that is exact for values up to `most`, whatever the weights.
    pub(crate) fn up_to(family: Family, most: f32) -> Self {
        match DotKernel::for_family(family) {
            DotKernel::Avx2 if most > 127.0 => DotKernel::Avx2Wide,
            kernel => kernel,
        }
    }

    /// Returns whether a faster kernel than this one ([`DotKernel::of_pairs`]) is exact for packed
    /// weights and values up to `most`.
    pub(crate) fn fits_pairs(self, weights: &[f32], most: f32) -> bool {
        self == DotKernel::Avx2Wide && pairs_fit(bytemuck::cast_slice(weights), most as i32)
    }

    /// Returns the fastest kernel for weights laid out for this one. `fit` is the result of
    /// [`DotKernel::fits_pairs`] for them.
    pub(crate) fn of_pairs(self, fit: bool) -> Self {
        match self {
            DotKernel::Avx2Wide if fit => DotKernel::Avx2,
            kernel => kernel,
        }
    }

    /// Returns the shape of tiles: sums use the same registers as sums of floats.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            DotKernel::Vnni => TileShape::for_family(Family::Avx512),
            DotKernel::AvxVnni => TileShape::for_family(Family::Avx2Vnni),
            // Pairs of products and a vector of ones also take registers.
            DotKernel::Avx2 => TileShape::for_family(Family::Avx2).with_rows(2, 5),
            // Each group of values and of weights takes two.
            DotKernel::Avx2Wide => TileShape::for_family(Family::Avx2).with_rows(2, 4),
            DotKernel::NeonDot => TileShape::for_family(Family::NeonDot),
            // Products and their pairs also take registers.
            DotKernel::Neon => TileShape::for_family(Family::Neon).with_rows(4, 5),
            DotKernel::Plain => TileShape::for_family(Family::Plain),
        }
    }

    /// Returns the number subtracted from values before they are multiplied ([`WholeDot::SHIFT`]).
    pub(crate) fn shift(self) -> i32 {
        match self {
            #[cfg(target_arch = "aarch64")]
            DotKernel::NeonDot | DotKernel::Neon => arm::SHIFT,
            _ => 0,
        }
    }
}

/// Returns whether the processor has the instructions of [`DotKernel::Vnni`].
#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vnni() -> bool {
    false
}

#[derive(Clone, Copy)]
pub(in super::super) struct PlainDot([i32; 4]);

impl DotVector for PlainDot {
    const BYTES: usize = 1;
    type Float = Plain;
    type Group = [[i8; 4]; 4];

    #[inline(always)]
    unsafe fn zero() -> Self {
        PlainDot([0; 4])
    }
    #[inline(always)]
    unsafe fn weights(from: *const f32) -> Self::Group {
        // SAFETY: four bytes for each of four lanes, by the trait.
        unsafe { from.cast::<Self::Group>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn spread(from: *const u8) -> Self::Group {
        // SAFETY: four bytes, by the trait.
        [unsafe { from.cast::<[i8; 4]>().read_unaligned() }; 4]
    }
    #[inline(always)]
    unsafe fn dot(self, values: Self::Group, weights: Self::Group) -> Self {
        let product = |lane: usize, i: usize| {
            let value = i32::from(values[lane][i].cast_unsigned());
            value * i32::from(weights[lane][i])
        };
        PlainDot(std::array::from_fn(|lane| {
            let pairs = [0, 2].map(|i| product(lane, i) + product(lane, i + 1));
            self.0[lane] + pairs[0] + pairs[1]
        }))
    }
}

impl WholeDot for PlainDot {
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: four numbers, by the trait.
        PlainDot(unsafe { from.cast::<[i32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn less(self, times: i32, other: Self) -> Self {
        let less = |lane: usize| self.0[lane].wrapping_sub(times.wrapping_mul(other.0[lane]));
        PlainDot(std::array::from_fn(less))
    }
    #[inline(always)]
    unsafe fn float(self) -> Plain {
        Plain(self.0.map(|sum| sum as f32))
    }
}

#[cfg(test)]
#[path = "../../../../../../tests/runtime/units/compute/kernels/dots/bytes.rs"]
mod tests;
