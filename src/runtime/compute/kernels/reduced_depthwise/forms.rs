//! The instructions of each form of numbers.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "instructions, whose conditions are the trait's"
)]

use std::arch::x86_64::*;

use super::super::tile::activated;
use super::super::vector::Avx512;
use super::VECTOR;
use super::ends::BlockEnds;
use super::tile::x86::walk;
use super::tile::{ReducedLine, ReducedLineFn};

/// A form of numbers, interleaved so that sums of their products have a lane for each channel.
///
/// # Safety
/// All methods: the processor has the form's instructions, and addresses are those of vectors.
pub(super) trait LineProducts {
    /// Channels of a block.
    const BLOCK: usize;
    /// Lines that are multiplied at a time.
    const GROUP: usize;
    /// Vectors of sums of a block.
    const SUMS: usize = 4 * Self::BLOCK / VECTOR;
    /// Vectors that are computed at a time where lines have as many.
    const SEVERAL: usize;
    /// The widest kernel whose weights stay in registers beside the sums.
    const KEPT: usize;

    /// Returns the function for several vectors at a time.
    fn several<const K: usize, const S: usize, const WHOLE: bool, const P: usize>() -> ReducedLineFn;
    /// Returns the function for one vector at a time, of any stride and dilation.
    fn single<const K: usize, const WHOLE: bool>() -> ReducedLineFn;

    /// Returns the numbers of a group of lines side by side.
    unsafe fn interleaved(read: impl Fn(usize) -> __m512i) -> [__m512i; 4];
    /// Returns sums with the products of a group of lines.
    unsafe fn dot(sums: __m512i, values: __m512i, weights: __m512i) -> __m512i;
    /// Returns what the `at`-th vector of sums stands for.
    unsafe fn float(ends: &BlockEnds, at: usize, sums: __m512i) -> __m512;
    /// Returns the numbers that sums become, in the order of channels.
    unsafe fn reduced(ends: &BlockEnds, sums: [__m512i; 4]) -> __m512i;
}

/// Implements the functions of a form's lines, which turn its instructions on.
macro_rules! lines {
    ($form:ident, $features:literal) => {
        fn several<const K: usize, const S: usize, const WHOLE: bool, const P: usize>()
        -> ReducedLineFn {
            #[target_feature(enable = $features)]
            unsafe fn line<const K: usize, const S: usize, const WHOLE: bool, const P: usize>(
                line: &ReducedLine<'_>,
            ) {
                walk::<$form, K, S, { $form::SEVERAL }, WHOLE, P>(line)
            }
            line::<K, S, WHOLE, P>
        }
        fn single<const K: usize, const WHOLE: bool>() -> ReducedLineFn {
            #[target_feature(enable = $features)]
            unsafe fn line<const K: usize, const WHOLE: bool>(line: &ReducedLine<'_>) {
                walk::<$form, K, 1, 1, WHOLE, 1>(line)
            }
            line::<K, WHOLE>
        }
    };
}

/// Bytes.
pub(super) struct ByteLanes;

impl LineProducts for ByteLanes {
    const BLOCK: usize = VECTOR;
    const GROUP: usize = 4;
    const SEVERAL: usize = 4;
    const KEPT: usize = 0;

    lines!(ByteLanes, "avx512f,avx512bw,avx512vnni");

    #[inline(always)]
    unsafe fn interleaved(read: impl Fn(usize) -> __m512i) -> [__m512i; 4] {
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

    #[inline(always)]
    unsafe fn dot(sums: __m512i, values: __m512i, weights: __m512i) -> __m512i {
        _mm512_dpbusd_epi32(sums, values, weights)
    }

    #[inline(always)]
    unsafe fn float(ends: &BlockEnds, at: usize, sums: __m512i) -> __m512 {
        let of = |each: &[f32; VECTOR]| _mm512_load_ps(each.as_ptr().add(16 * at));
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), of(&ends.scales), of(&ends.bias))
    }

    #[inline(always)]
    unsafe fn reduced(ends: &BlockEnds, sums: [__m512i; 4]) -> __m512i {
        let mut whole = sums;
        for (at, sums) in whole.iter_mut().enumerate() {
            // What is beyond 32 bits would become the least number.
            let number = Self::float(ends, at, *sums);
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
}

/// Brain floats.
pub(super) struct HalfLanes;

impl LineProducts for HalfLanes {
    const BLOCK: usize = VECTOR / 2;
    const GROUP: usize = 2;
    const SEVERAL: usize = 7;
    const KEPT: usize = 5;

    lines!(HalfLanes, "avx512f,avx512bw,avx512bf16");

    #[inline(always)]
    unsafe fn interleaved(read: impl Fn(usize) -> __m512i) -> [__m512i; 4] {
        let [a, b] = [read(0), read(1)];
        let none = _mm512_setzero_si512();
        [
            _mm512_unpacklo_epi16(a, b),
            _mm512_unpackhi_epi16(a, b),
            none,
            none,
        ]
    }

    #[inline(always)]
    unsafe fn dot(sums: __m512i, values: __m512i, weights: __m512i) -> __m512i {
        let [values, weights] = [values, weights].map(|v| std::mem::transmute::<_, __m512bh>(v));
        _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sums), values, weights))
    }

    #[inline(always)]
    unsafe fn float(_: &BlockEnds, _: usize, sums: __m512i) -> __m512 {
        _mm512_castsi512_ps(sums)
    }

    #[inline(always)]
    unsafe fn reduced(ends: &BlockEnds, sums: [__m512i; 4]) -> __m512i {
        let float = |at: usize| {
            let sums = Self::float(ends, at, sums[at]);
            activated(Avx512(sums), ends.activation).0
        };
        let halves: __m512i = std::mem::transmute(_mm512_cvtne2ps_pbh(float(1), float(0)));
        // Four channels each, by turns of the first and of the second sums.
        let order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
        _mm512_permutexvar_epi64(order, halves)
    }
}
