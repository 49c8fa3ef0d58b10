//! The instructions: four lines of bytes interleaved, so that sums of their products have a lane for each
//! channel.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "instructions, whose conditions are those of a line's function"
)]

use std::arch::x86_64::*;

use super::VECTOR;
use super::ends::BlockEnds;

/// Returns the bytes of a group of lines side by side.
#[inline(always)]
pub(super) unsafe fn interleaved(read: impl Fn(usize) -> __m512i) -> [__m512i; 4] {
    let [a, b, c, d] = [read(0), read(1), read(2), read(3)];
    let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (ef, gh) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(ab, cd),
        _mm512_unpackhi_epi16(ab, cd),
        _mm512_unpacklo_epi16(ef, gh),
        _mm512_unpackhi_epi16(ef, gh),
    ]
}

/// Returns sums with the products of a group of lines.
#[inline(always)]
pub(super) unsafe fn dot(sums: __m512i, values: __m512i, weights: __m512i) -> __m512i {
    _mm512_dpbusd_epi32(sums, values, weights)
}

/// Returns the floats of the `at`-th vector of sums.
#[inline(always)]
pub(super) unsafe fn float(ends: &BlockEnds, at: usize, sums: __m512i) -> __m512 {
    let of = |each: &[f32; VECTOR]| _mm512_load_ps(each.as_ptr().add(16 * at));
    _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), of(&ends.scales), of(&ends.bias))
}

/// Returns the bytes that sums become, in the order of channels.
#[inline(always)]
pub(super) unsafe fn reduced(ends: &BlockEnds, sums: [__m512i; 4]) -> __m512i {
    let mut whole = sums;
    for (at, sums) in whole.iter_mut().enumerate() {
        // Numbers beyond 32 bits would become the least number.
        let number = float(ends, at, *sums);
        *sums = _mm512_cvtps_epi32(_mm512_min_ps(number, _mm512_set1_ps(65535.0)));
    }
    // Packing saturates, and brings channels back to their order.
    let zero_point = _mm512_load_si512(ends.zero_point.as_ptr().cast());
    let low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero_point);
    let high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero_point);
    let bytes = _mm512_packus_epi16(low, high);
    let least = _mm512_load_si512(ends.least.as_ptr().cast());
    let most = _mm512_load_si512(ends.most.as_ptr().cast());
    _mm512_min_epu8(_mm512_max_epu8(bytes, least), most)
}
