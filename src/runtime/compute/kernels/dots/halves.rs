//! Products of brain floats, two to a sum in float32, once for each kind of instructions.

use super::super::panels::TileShape;
use super::super::vector::Vector;
use super::{DotVector, FloatDot, half_speed, is_worth_using};
use crate::compute::family::Family;

/// The instructions that multiply brain floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) enum HalfKernel {
    /// AVX-512 with BF16: 32 products an instruction.
    Native,
    /// The float32 products of a family, on numbers that are widened while they are loaded.
    Widened(Family),
}

impl HalfKernel {
    /// Returns the fastest kernel for a processor that has the instructions of `family`, as
    /// [`half_speed`] measured it.
    pub(crate) fn for_family(family: Family) -> Self {
        match family {
            #[cfg(target_arch = "x86_64")]
            Family::Avx512 if half_speed().is_some_and(is_worth_using) => HalfKernel::Native,
            family if family.is_available() => HalfKernel::Widened(family),
            _ => HalfKernel::Widened(Family::Plain),
        }
    }

    /// Returns whether brain floats are multiplied natively.
    pub(crate) fn is_native(self) -> bool {
        self == HalfKernel::Native
    }

    /// Returns the shape of tiles.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            HalfKernel::Native => TileShape::for_family(Family::Avx512),
            // Both halves of each group of weights and of a group of values take registers.
            HalfKernel::Widened(Family::Avx512) => {
                TileShape::for_family(Family::Avx512).with_rows(4, 5)
            }
            HalfKernel::Widened(Family::Avx2Vnni | Family::Avx2) => {
                TileShape::for_family(Family::Avx2).with_rows(2, 4)
            }
            HalfKernel::Widened(family) => TileShape::for_family(family),
        }
    }
}

/// Sums of products that are made in float32.
#[derive(Clone, Copy)]
pub(in super::super) struct WidenedDot<V>(V);

/// Returns the two numbers of a group as floats, the first one of the two first.
#[inline(always)]
fn halves(group: f32) -> [f32; 2] {
    let bits = group.to_bits();
    [bits << 16, bits & 0xffff_0000].map(f32::from_bits)
}

impl<V: Vector> DotVector for WidenedDot<V> {
    const BYTES: usize = 2;
    type Float = V;
    type Group = [V; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: guaranteed by the caller.
        WidenedDot(unsafe { V::splat(0.0) })
    }
    #[inline(always)]
    unsafe fn weights(from: *const f32) -> Self::Group {
        // SAFETY: guaranteed by the caller.
        unsafe { V::load(from).halves() }
    }
    #[inline(always)]
    unsafe fn spread(from: *const u8) -> Self::Group {
        // SAFETY: a group can be read, by the trait.
        unsafe {
            let [first, second] = halves(from.cast::<f32>().read_unaligned());
            [V::splat(first), V::splat(second)]
        }
    }
    #[inline(always)]
    unsafe fn dot(self, values: Self::Group, weights: Self::Group) -> Self {
        // SAFETY: guaranteed by the caller.
        WidenedDot(unsafe {
            let first = self.0.mul_add(values[0], weights[0]);
            first.mul_add(values[1], weights[1])
        })
    }
}

impl<V: Vector> FloatDot for WidenedDot<V> {
    #[inline(always)]
    unsafe fn float(self) -> V {
        self.0
    }
    #[inline(always)]
    fn from_floats(floats: V) -> Self {
        WidenedDot(floats)
    }
}

#[cfg(target_arch = "x86_64")]
pub(in super::super) mod native {
    #![allow(
        unsafe_op_in_unsafe_fn,
        reason = "each method is a few instructions, whose conditions are the trait's"
    )]

    use std::arch::x86_64::*;

    use super::super::super::vector::Avx512;
    use super::{DotVector, FloatDot};

    #[derive(Clone, Copy)]
    pub(in super::super::super) struct Bf16Dot(__m512);

    impl DotVector for Bf16Dot {
        const BYTES: usize = 2;
        type Float = Avx512;
        type Group = __m512bh;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Bf16Dot(_mm512_setzero_ps())
        }
        #[inline(always)]
        unsafe fn weights(from: *const f32) -> __m512bh {
            std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast()))
        }
        #[inline(always)]
        unsafe fn spread(from: *const u8) -> __m512bh {
            let group = from.cast::<i32>().read_unaligned();
            std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(group))
        }
        #[inline(always)]
        unsafe fn dot(self, values: __m512bh, weights: __m512bh) -> Self {
            Bf16Dot(_mm512_dpbf16_ps(self.0, values, weights))
        }
    }

    impl FloatDot for Bf16Dot {
        #[inline(always)]
        unsafe fn float(self) -> Avx512 {
            Avx512(self.0)
        }
        #[inline(always)]
        fn from_floats(floats: Avx512) -> Self {
            Bf16Dot(floats.0)
        }
    }
}
