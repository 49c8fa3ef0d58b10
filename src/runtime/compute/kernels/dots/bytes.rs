//! Products of bytes, four to a sum, once for each kind of instructions.

use super::super::panels::TileShape;
use super::super::vector::Plain;
use super::{DotVector, WholeDot};
use crate::compute::family::Family;

/// The instructions that multiply bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compute) enum DotKernel {
    /// AVX-512 with VNNI: 64 products an instruction.
    Vnni,
    /// AVX2: products of bytes are added in pairs of 16 bits, and these in pairs of 32. Exact for
    /// values up to 127.
    Avx2,
    /// AVX2: bytes are widened to 16 bits. Exact for all.
    Avx2Wide,
    /// No particular instructions.
    Plain,
}

impl DotKernel {
    /// Returns the fastest kernel for a processor that has the instructions of `family`.
    pub(crate) fn of(family: Family) -> Self {
        match family {
            #[cfg(target_arch = "x86_64")]
            Family::Avx512 if has_vnni() => DotKernel::Vnni,
            Family::Avx512 | Family::Avx2 if Family::Avx2.is_available() => DotKernel::Avx2,
            _ => DotKernel::Plain,
        }
    }

    /// Returns the fastest kernel that is exact for values up to `most`.
    pub(crate) fn up_to(family: Family, most: f32) -> Self {
        match DotKernel::of(family) {
            DotKernel::Avx2 if most > 127.0 => DotKernel::Avx2Wide,
            kernel => kernel,
        }
    }

    /// Returns the shape of tiles: sums take the registers that those of floats take.
    pub(crate) fn shape(self) -> TileShape {
        match self {
            DotKernel::Vnni => TileShape::of(Family::Avx512),
            // Pairs of products and a vector of ones take registers, too.
            DotKernel::Avx2 => TileShape::of(Family::Avx2).with_rows(2, 5),
            // Each group of values and of weights takes two.
            DotKernel::Avx2Wide => TileShape::of(Family::Avx2).with_rows(2, 4),
            DotKernel::Plain => TileShape::of(Family::Plain),
        }
    }
}

/// Whether the processor has the instructions of [`DotKernel::Vnni`].
#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
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

#[cfg(target_arch = "x86_64")]
pub(in super::super) mod x86 {
    #![allow(
        unsafe_op_in_unsafe_fn,
        reason = "each method is a few instructions, whose conditions are the trait's"
    )]

    use std::arch::x86_64::*;

    use super::super::super::vector::{Avx2, Avx512};
    use super::{DotVector, WholeDot};

    #[derive(Clone, Copy)]
    pub(in super::super::super) struct VnniDot(__m512i);

    impl DotVector for VnniDot {
        const BYTES: usize = 1;
        type Float = Avx512;
        type Group = __m512i;

        #[inline(always)]
        unsafe fn zero() -> Self {
            VnniDot(_mm512_setzero_si512())
        }
        #[inline(always)]
        unsafe fn weights(from: *const f32) -> __m512i {
            _mm512_loadu_si512(from.cast())
        }
        #[inline(always)]
        unsafe fn spread(from: *const u8) -> __m512i {
            _mm512_set1_epi32(from.cast::<i32>().read_unaligned())
        }
        #[inline(always)]
        unsafe fn dot(self, values: __m512i, weights: __m512i) -> Self {
            VnniDot(_mm512_dpbusd_epi32(self.0, values, weights))
        }
    }

    impl WholeDot for VnniDot {
        #[inline(always)]
        unsafe fn load(from: *const i32) -> Self {
            VnniDot(_mm512_loadu_si512(from.cast()))
        }
        #[inline(always)]
        unsafe fn less(self, times: i32, other: Self) -> Self {
            let product = _mm512_mullo_epi32(_mm512_set1_epi32(times), other.0);
            VnniDot(_mm512_sub_epi32(self.0, product))
        }
        #[inline(always)]
        unsafe fn float(self) -> Avx512 {
            Avx512(_mm512_cvtepi32_ps(self.0))
        }
    }

    #[derive(Clone, Copy)]
    pub(in super::super::super) struct Avx2Dot(__m256i);

    impl DotVector for Avx2Dot {
        const BYTES: usize = 1;
        type Float = Avx2;
        type Group = __m256i;

        #[inline(always)]
        unsafe fn zero() -> Self {
            Avx2Dot(_mm256_setzero_si256())
        }
        #[inline(always)]
        unsafe fn weights(from: *const f32) -> __m256i {
            _mm256_loadu_si256(from.cast())
        }
        #[inline(always)]
        unsafe fn spread(from: *const u8) -> __m256i {
            _mm256_set1_epi32(from.cast::<i32>().read_unaligned())
        }
        #[inline(always)]
        unsafe fn dot(self, values: __m256i, weights: __m256i) -> Self {
            // Two products are at most 2 · 127 · 128, which 16 bits hold.
            let pairs = _mm256_maddubs_epi16(values, weights);
            let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
            Avx2Dot(_mm256_add_epi32(self.0, fours))
        }
    }

    impl WholeDot for Avx2Dot {
        #[inline(always)]
        unsafe fn load(from: *const i32) -> Self {
            Avx2Dot(_mm256_loadu_si256(from.cast()))
        }
        #[inline(always)]
        unsafe fn less(self, times: i32, other: Self) -> Self {
            let product = _mm256_mullo_epi32(_mm256_set1_epi32(times), other.0);
            Avx2Dot(_mm256_sub_epi32(self.0, product))
        }
        #[inline(always)]
        unsafe fn float(self) -> Avx2 {
            Avx2(_mm256_cvtepi32_ps(self.0))
        }
    }

    #[derive(Clone, Copy)]
    pub(in super::super::super) struct Avx2WideDot(__m256i);

    /// Returns the numbers at even places and those at odd ones, of 16 bits each.
    #[inline(always)]
    unsafe fn widened(bytes: __m256i) -> [__m256i; 2] {
        let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(bytes));
        [even, _mm256_srai_epi16::<8>(bytes)]
    }

    impl DotVector for Avx2WideDot {
        const BYTES: usize = 1;
        type Float = Avx2;
        type Group = [__m256i; 2];

        #[inline(always)]
        unsafe fn zero() -> Self {
            Avx2WideDot(_mm256_setzero_si256())
        }
        #[inline(always)]
        unsafe fn weights(from: *const f32) -> [__m256i; 2] {
            widened(_mm256_loadu_si256(from.cast()))
        }
        #[inline(always)]
        unsafe fn spread(from: *const u8) -> [__m256i; 2] {
            let bytes = _mm256_set1_epi32(from.cast::<i32>().read_unaligned());
            let even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
            [even, _mm256_srli_epi16::<8>(bytes)]
        }
        #[inline(always)]
        unsafe fn dot(self, values: [__m256i; 2], weights: [__m256i; 2]) -> Self {
            let even = _mm256_madd_epi16(values[0], weights[0]);
            let odd = _mm256_madd_epi16(values[1], weights[1]);
            Avx2WideDot(_mm256_add_epi32(self.0, _mm256_add_epi32(even, odd)))
        }
    }

    impl WholeDot for Avx2WideDot {
        #[inline(always)]
        unsafe fn load(from: *const i32) -> Self {
            Avx2WideDot(_mm256_loadu_si256(from.cast()))
        }
        #[inline(always)]
        unsafe fn less(self, times: i32, other: Self) -> Self {
            let product = _mm256_mullo_epi32(_mm256_set1_epi32(times), other.0);
            Avx2WideDot(_mm256_sub_epi32(self.0, product))
        }
        #[inline(always)]
        unsafe fn float(self) -> Avx2 {
            Avx2(_mm256_cvtepi32_ps(self.0))
        }
    }
}
