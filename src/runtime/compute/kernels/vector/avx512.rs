//! Sixteen floats (x86-64 with AVX-512 F).
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each method is one instruction, whose conditions are the trait's"
)]

use std::arch::x86_64::*;

use super::{Vector, Vectorised};

#[derive(Clone, Copy)]
pub(in crate::compute) struct Avx512(pub(in super::super) __m512);

/// Runs `work` with these instructions enabled.
///
/// # Safety
/// The processor has AVX-512 F; the conditions of `work` hold.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn with<W: Vectorised>(work: W) -> W::Output {
    work.run::<Avx512>()
}

/// Returns `n` brain floats: pairs by a mask, and the rest.
#[inline(always)]
unsafe fn halves_of(from: *const u16, n: usize) -> __m256i {
    let pairs = _mm512_maskz_loadu_epi32(first(n / 2), from.cast());
    let pairs = _mm512_castsi512_si256(pairs);
    if n.is_multiple_of(2) {
        return pairs;
    }
    let mut halves = [0u16; 16];
    _mm256_storeu_si256(halves.as_mut_ptr().cast(), pairs);
    halves[n - 1] = *from.add(n - 1);
    _mm256_loadu_si256(halves.as_ptr().cast())
}

const fn first(n: usize) -> __mmask16 {
    ((1u32 << n) - 1) as __mmask16
}

/// Returns brain floats as floats.
#[inline(always)]
unsafe fn widened(halves: __m256i) -> Avx512 {
    let halves = _mm512_cvtepu16_epi32(halves);
    Avx512(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves)))
}

/// Returns the nearest brain floats, half to even.
#[inline(always)]
unsafe fn narrowed(floats: Avx512) -> __m256i {
    let bits = _mm512_castps_si512(floats.0);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, half));
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(floats.0, floats.0);
    _mm512_cvtepi32_epi16(_mm512_mask_set1_epi32(rounded, nan, 0x7fc0))
}

impl Vector for Avx512 {
    const LANES: usize = 16;
    const TILE_VECTORS: usize = 4;
    const TILE_ROWS: [usize; 5] = [0, 12, 12, 8, 6];

    #[inline(always)]
    unsafe fn prefetch_l1(at: *const f32) {
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[inline(always)]
    unsafe fn prefetch_l2(at: *const f32) {
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Avx512(_mm512_set1_ps(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Avx512(_mm512_loadu_ps(from))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        Avx512(_mm512_maskz_loadu_ps(first(n), from))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        _mm512_storeu_ps(to, self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        _mm512_mask_storeu_ps(to, first(n), self.0);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Avx512(_mm512_add_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Avx512(_mm512_sub_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Avx512(_mm512_mul_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Avx512(_mm512_div_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn approximate_reciprocal(self) -> Self {
        Avx512(_mm512_rcp14_ps(self.0))
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Avx512(_mm512_fmadd_ps(a.0, b.0, self.0))
    }
    #[inline(always)]
    unsafe fn lower(self, other: Self) -> Self {
        Avx512(_mm512_min_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn higher(self, other: Self) -> Self {
        Avx512(_mm512_max_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn lowest(self) -> f32 {
        _mm512_reduce_min_ps(self.0)
    }
    #[inline(always)]
    unsafe fn highest(self) -> f32 {
        _mm512_reduce_max_ps(self.0)
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Avx512(_mm512_max_ps(_mm512_setzero_ps(), self.0))
    }
    #[inline(always)]
    unsafe fn at_most(self, most: f32) -> Self {
        Avx512(_mm512_min_ps(_mm512_set1_ps(most), self.0))
    }
    #[inline(always)]
    unsafe fn at_least(self, least: f32) -> Self {
        Avx512(_mm512_max_ps(_mm512_set1_ps(least), self.0))
    }
    #[inline(always)]
    unsafe fn where_below(self, bound: f32, then: Self, otherwise: Self) -> Self {
        let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, _mm512_set1_ps(bound));
        Avx512(_mm512_mask_blend_ps(below, otherwise.0, then.0))
    }
    #[inline(always)]
    unsafe fn times_two_to(self, n: Self) -> Self {
        Avx512(_mm512_scalef_ps(self.0, n.0))
    }
    #[inline(always)]
    unsafe fn nearest(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        Avx512(_mm512_roundscale_ps::<NEAREST>(self.0))
    }
    #[inline(always)]
    unsafe fn is_finite(self) -> bool {
        _mm512_cmp_ps_mask::<_CMP_ORD_Q>(_mm512_sub_ps(self.0, self.0), self.0) == 0xffff
    }
    #[inline(always)]
    unsafe fn spread(self, width: usize, i: usize) -> Self {
        if width == 4 {
            return Avx512(_mm512_permutevar_ps(self.0, _mm512_set1_epi32(i as i32)));
        }
        let (low, high) = (i as i32, i as i32 + 8);
        let lanes = _mm512_mask_set1_epi32(_mm512_set1_epi32(low), 0xff00, high);
        Avx512(_mm512_permutexvar_ps(lanes, self.0))
    }
    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        let bits = _mm512_castps_si512(self.0);
        let low = _mm512_slli_epi32::<16>(bits);
        let high = _mm512_and_si512(bits, _mm512_set1_epi32(0xffff_0000_u32.cast_signed()));
        [
            Avx512(_mm512_castsi512_ps(low)),
            Avx512(_mm512_castsi512_ps(high)),
        ]
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        widened(_mm256_loadu_si256(from.cast()))
    }
    #[inline(always)]
    unsafe fn load_bf16_part(from: *const u16, n: usize) -> Self {
        widened(halves_of(from, n))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        _mm256_storeu_si256(to.cast(), narrowed(self));
    }
    #[inline(always)]
    unsafe fn store_bf16_part(self, to: *mut u16, n: usize) {
        let halves = _mm512_castsi256_si512(narrowed(self));
        _mm512_mask_storeu_epi32(to.cast(), first(n / 2), halves);
        if !n.is_multiple_of(2) {
            let mut last = [0u16; 32];
            _mm512_storeu_si512(last.as_mut_ptr().cast(), halves);
            *to.add(n - 1) = last[n - 1];
        }
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self {
        let bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
        Avx512(_mm512_cvtepi32_ps(bytes))
    }
    #[inline(always)]
    unsafe fn store_bytes(self, zero_point: i32, most: i32, to: *mut u8) {
        let (least, top) = (-zero_point as f32, (most - zero_point) as f32);
        let bounded = _mm512_min_ps(self.0, _mm512_set1_ps(top));
        let bounded = _mm512_max_ps(bounded, _mm512_set1_ps(least));
        let bytes = _mm512_add_epi32(_mm512_cvtps_epi32(bounded), _mm512_set1_epi32(zero_point));
        _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(bytes));
    }
}
