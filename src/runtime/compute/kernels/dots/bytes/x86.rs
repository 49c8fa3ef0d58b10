//! Products of bytes on x86-64.
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

/// Implements [`WholeDot`] for sums in a vector of 256 bits.
macro_rules! whole {
    ($ty:ident) => {
        impl WholeDot for $ty {
            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                $ty(_mm256_loadu_si256(from.cast()))
            }
            #[inline(always)]
            unsafe fn less(self, times: i32, other: Self) -> Self {
                let product = _mm256_mullo_epi32(_mm256_set1_epi32(times), other.0);
                $ty(_mm256_sub_epi32(self.0, product))
            }
            #[inline(always)]
            unsafe fn float(self) -> Avx2 {
                Avx2(_mm256_cvtepi32_ps(self.0))
            }
        }
    };
}

/// Four bytes from here in every lane.
#[inline(always)]
unsafe fn four_bytes(from: *const u8) -> __m256i {
    _mm256_set1_epi32(from.cast::<i32>().read_unaligned())
}

/// Defines sums in a vector of 256 bits whose groups are bytes as they lie; the expression adds the
/// products of two groups to sums.
macro_rules! dot {
    ($ty:ident, ($sums:ident, $values:ident, $weights:ident) => $dot:expr) => {
        #[derive(Clone, Copy)]
        pub(in super::super::super) struct $ty(__m256i);

        impl DotVector for $ty {
            const BYTES: usize = 1;
            type Float = Avx2;
            type Group = __m256i;

            #[inline(always)]
            unsafe fn zero() -> Self {
                $ty(_mm256_setzero_si256())
            }
            #[inline(always)]
            unsafe fn weights(from: *const f32) -> __m256i {
                _mm256_loadu_si256(from.cast())
            }
            #[inline(always)]
            unsafe fn spread(from: *const u8) -> __m256i {
                four_bytes(from)
            }
            #[inline(always)]
            unsafe fn dot(self, $values: __m256i, $weights: __m256i) -> Self {
                let $sums = self.0;
                $ty($dot)
            }
        }

        whole!($ty);
    };
}

dot!(AvxVnniDot, (sums, values, weights) => _mm256_dpbusd_avx_epi32(sums, values, weights));

dot!(Avx2Dot, (sums, values, weights) => {
    // Sums of two products that 16 bits hold, by the choice of the kernel.
    let pairs = _mm256_maddubs_epi16(values, weights);
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    _mm256_add_epi32(sums, fours)
});

#[derive(Clone, Copy)]
pub(in super::super::super) struct Avx2WideDot(__m256i);

/// Returns the numbers at even and at odd positions, with 16 bits each.
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
        let bytes = four_bytes(from);
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

whole!(Avx2WideDot);
