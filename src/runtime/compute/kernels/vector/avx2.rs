//! Eight floats (x86-64 with AVX2 and FMA).
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each method is one instruction, whose conditions are the trait's"
)]

use std::arch::x86_64::*;

use super::{Vector, Vectorised};

#[derive(Clone, Copy)]
pub(in crate::compute) struct Avx2(pub(in super::super) __m256);

/// Runs `work` with these instructions enabled.
///
/// # Safety
/// The processor has AVX2 and FMA; the conditions of `work` hold.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn with<W: Vectorised>(work: W) -> W::Output {
    work.run::<Avx2>()
}

/// Eight lanes from here, `8 - n` of them, start with `n` that are on.
static LANES_ON: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

#[inline(always)]
unsafe fn first(n: usize) -> __m256i {
    _mm256_loadu_si256(LANES_ON.as_ptr().add(8 - n).cast())
}

/// 2ⁿ, as its exponent's bits.
#[inline(always)]
unsafe fn power(n: __m256i) -> __m256 {
    let biased = _mm256_add_epi32(n, _mm256_set1_epi32(127));
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
}

impl Vector for Avx2 {
    const LANES: usize = 8;
    const TILE_VECTORS: usize = 2;
    const TILE_ROWS: [usize; 5] = [0, 8, 6, 0, 0];

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
        Avx2(_mm256_set1_ps(value))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Avx2(_mm256_loadu_ps(from))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, n: usize) -> Self {
        Avx2(_mm256_maskload_ps(from, first(n)))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        _mm256_storeu_ps(to, self.0);
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut f32, n: usize) {
        _mm256_maskstore_ps(to, first(n), self.0);
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Avx2(_mm256_add_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Avx2(_mm256_sub_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Avx2(_mm256_mul_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Avx2(_mm256_div_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Avx2(_mm256_fmadd_ps(a.0, b.0, self.0))
    }
    #[inline(always)]
    unsafe fn lower(self, other: Self) -> Self {
        Avx2(_mm256_min_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn higher(self, other: Self) -> Self {
        Avx2(_mm256_max_ps(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn lowest(self) -> f32 {
        let halves = _mm_min_ps(
            _mm256_castps256_ps128(self.0),
            _mm256_extractf128_ps::<1>(self.0),
        );
        let two = _mm_min_ps(halves, _mm_movehl_ps(halves, halves));
        _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)))
    }
    #[inline(always)]
    unsafe fn highest(self) -> f32 {
        let halves = _mm_max_ps(
            _mm256_castps256_ps128(self.0),
            _mm256_extractf128_ps::<1>(self.0),
        );
        let two = _mm_max_ps(halves, _mm_movehl_ps(halves, halves));
        _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Avx2(_mm256_max_ps(_mm256_setzero_ps(), self.0))
    }
    #[inline(always)]
    unsafe fn at_most(self, most: f32) -> Self {
        Avx2(_mm256_min_ps(_mm256_set1_ps(most), self.0))
    }
    #[inline(always)]
    unsafe fn at_least(self, least: f32) -> Self {
        Avx2(_mm256_max_ps(_mm256_set1_ps(least), self.0))
    }
    #[inline(always)]
    unsafe fn where_below(self, bound: f32, then: Self, otherwise: Self) -> Self {
        let below = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, _mm256_set1_ps(bound));
        Avx2(_mm256_blendv_ps(otherwise.0, then.0, below))
    }
    #[inline(always)]
    unsafe fn times_two_to(self, n: Self) -> Self {
        // In two steps, because one factor alone could leave the range of normal numbers.
        let n = _mm256_cvtps_epi32(n.0);
        let half = _mm256_srai_epi32::<1>(n);
        let rest = _mm256_sub_epi32(n, half);
        Avx2(_mm256_mul_ps(
            _mm256_mul_ps(self.0, power(half)),
            power(rest),
        ))
    }
    #[inline(always)]
    unsafe fn nearest(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        Avx2(_mm256_round_ps::<NEAREST>(self.0))
    }
    #[inline(always)]
    unsafe fn is_finite(self) -> bool {
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_ORD_Q>(
            _mm256_sub_ps(self.0, self.0),
            self.0,
        )) == 0xff
    }
    #[inline(always)]
    unsafe fn spread(self, width: usize, i: usize) -> Self {
        let lanes = _mm256_set1_epi32(i as i32);
        if width == 4 {
            Avx2(_mm256_permutevar_ps(self.0, lanes))
        } else {
            Avx2(_mm256_permutevar8x32_ps(self.0, lanes))
        }
    }
    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        let bits = _mm256_castps_si256(self.0);
        let low = _mm256_slli_epi32::<16>(bits);
        let high = _mm256_and_si256(bits, _mm256_set1_epi32(0xffff_0000_u32.cast_signed()));
        [
            Avx2(_mm256_castsi256_ps(low)),
            Avx2(_mm256_castsi256_ps(high)),
        ]
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
        Avx2(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves)))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let bits = _mm256_castps_si256(self.0);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
        let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half));
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0));
        let halves = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fc0), nan);
        let packed = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi32(halves, halves));
        _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(packed));
    }
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self {
        Avx2(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(
            from.cast(),
        ))))
    }
    #[inline(always)]
    unsafe fn store_bytes(self, zero_point: i32, most: i32, to: *mut u8) {
        // Numbers beyond 32 bits would become the least number.
        let bounded = _mm256_min_ps(self.0, _mm256_set1_ps(255.0));
        let whole = _mm256_add_epi32(_mm256_cvtps_epi32(bounded), _mm256_set1_epi32(zero_point));
        let whole = _mm256_min_epi32(whole, _mm256_set1_epi32(most));
        let pairs = _mm256_packus_epi32(whole, whole);
        let words = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(pairs));
        _mm_storel_epi64(to.cast(), _mm_packus_epi16(words, words));
    }
}
