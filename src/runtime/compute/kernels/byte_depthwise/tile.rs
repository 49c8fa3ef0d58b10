//! The inner loop: a few neighbouring pixels of a line, of one block of channels.

use super::MOST_LINES;
use super::ends::BlockEnds;
use crate::network::Conv2d;

/// One line of the output, of one block of channels.
pub(super) struct ByteLine<'a> {
    /// The lines of the image under each line of the kernel, and the bytes from one pixel to the next:
    /// 0 of the border, which lies outside of the image.
    pub rows: [(*const u8, usize); MOST_LINES],
    /// The vector of bytes that replaces a pixel outside of the image.
    pub border: *const u8,
    /// Pixels of a line of the image.
    pub width: usize,
    pub conv: Conv2d,
    /// Of each four lines of the kernel and each column, a vector's worth of weights four times.
    pub weights: *const f32,
    pub ends: &'a BlockEnds,
    /// Channels of the block, whole groups of four.
    pub channels: usize,
    /// Pixels of the line.
    pub columns: usize,
    /// Where bytes go, or null where floats are written.
    pub out: *mut u8,
    pub out_pitch: usize,
    pub floats: *mut f32,
    pub floats_pitch: usize,
}

/// A line's function.
///
/// # Safety
/// The processor has the instructions of [`DotKernel::Vnni`](super::super::dots::DotKernel::Vnni); rows
/// have `width` pixels of `channels` bytes, out or floats have `columns` pixels of
/// `channels` numbers, and nothing else uses these meanwhile.
pub(super) type ByteLineFn = unsafe fn(&ByteLine<'_>);

/// Returns the function for a convolution that [`suits`](super::suits), for lines of `columns` pixels
/// and blocks of `channels`.
#[cfg(target_arch = "x86_64")]
pub(super) fn line_fn(conv: Conv2d, columns: usize, channels: usize) -> ByteLineFn {
    let several = conv.dilation == 1 && conv.stride <= 2 && columns >= x86::SEVERAL;
    let paired = several && conv.stride == 1 && columns >= 2 * x86::SEVERAL;
    match channels {
        super::BLOCK => x86::line_fn::<true>(conv, several),
        0..=super::HALF if paired => x86::paired_fn(conv),
        _ => x86::line_fn::<false>(conv, several),
    }
}

/// Returns a function that does nothing: no convolution [`suits`](super::suits).
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn line_fn(_: Conv2d, _: usize, _: usize) -> ByteLineFn {
    unsafe fn nothing(_: &ByteLine<'_>) {}
    nothing
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(
        unsafe_op_in_unsafe_fn,
        reason = "instructions, whose conditions are those of a line's function"
    )]

    use std::arch::x86_64::*;

    use super::super::super::tile::activated;
    use super::super::super::vector::Avx512;
    use super::super::{BLOCK, GROUP};
    use super::{ByteLine, ByteLineFn};
    use crate::network::Conv2d;

    /// Pixels that are computed at a time where lines have as many.
    pub(super) const SEVERAL: usize = 4;

    pub(super) fn line_fn<const WHOLE: bool>(conv: Conv2d, several: bool) -> ByteLineFn {
        match (conv.kernel.width, conv.stride, several) {
            (3, 1, true) => line::<3, 1, SEVERAL, WHOLE, 1>,
            (3, _, true) => line::<3, 2, SEVERAL, WHOLE, 1>,
            (5, 1, true) => line::<5, 1, SEVERAL, WHOLE, 1>,
            (5, _, true) => line::<5, 2, SEVERAL, WHOLE, 1>,
            (7, 1, true) => line::<7, 1, SEVERAL, WHOLE, 1>,
            (7, _, true) => line::<7, 2, SEVERAL, WHOLE, 1>,
            (3, _, false) => line::<3, 1, 1, WHOLE, 1>,
            (5, _, false) => line::<5, 1, 1, WHOLE, 1>,
            (7, _, false) => line::<7, 1, 1, WHOLE, 1>,
            (width, ..) => unreachable!("no tile of kernels {width} wide"),
        }
    }

    /// Returns the function for half a block of channels, of which a vector holds two pixels.
    pub(super) fn paired_fn(conv: Conv2d) -> ByteLineFn {
        match conv.kernel.width {
            3 => line::<3, 1, SEVERAL, false, 2>,
            5 => line::<5, 1, SEVERAL, false, 2>,
            7 => line::<7, 1, SEVERAL, false, 2>,
            width => unreachable!("no tile of kernels {width} wide"),
        }
    }

    /// Computes a line of a kernel `K` wide, `M` vectors at a time of `P` pixels that are `S` columns
    /// apart. The last pixels may be computed twice.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn line<
        const K: usize,
        const S: usize,
        const M: usize,
        const WHOLE: bool,
        const P: usize,
    >(
        line: &ByteLine<'_>,
    ) {
        let (padding, reach) = (line.conv.padding.width, (K - 1) * line.conv.dilation);
        for x in (0..line.columns).step_by(M * P) {
            let x = x.min(line.columns - M * P);
            let (first, last) = (x * line.conv.stride, (x + M * P - 1) * line.conv.stride);
            match first >= padding && last + reach < line.width + padding {
                true => pixels::<K, S, M, WHOLE, P, true>(line, x),
                false => pixels::<K, S, M, WHOLE, P, false>(line, x),
            }
        }
    }

    /// Repeats a block for each column of the input, since sums stay in registers only where no loop
    /// chooses among them.
    macro_rules! columns {
        ($at:ident < $most:expr; $($n:literal)+ => $block:block) => {
            $(if $n < $most {
                const $at: usize = $n;
                $block
            })+
        };
    }

    /// Computes `M` vectors from pixel `x` of the line on; `INSIDE` says that all that they read lies
    /// between the first and the last column of the image.
    #[inline(always)]
    unsafe fn pixels<
        const K: usize,
        const S: usize,
        const M: usize,
        const WHOLE: bool,
        const P: usize,
        const INSIDE: bool,
    >(
        line: &ByteLine<'_>,
        x: usize,
    ) {
        let mut sums = [[_mm512_setzero_si512(); 4]; M];
        for at in 0..4 {
            let start = _mm512_load_si512(line.ends.starts.as_ptr().add(16 * at).cast());
            for sums in &mut sums {
                sums[at] = start;
            }
        }
        let first = (x * line.conv.stride).wrapping_sub(line.conv.padding.width);
        for group in 0..line.conv.kernel.height.div_ceil(GROUP) {
            let weights = line.weights.add(group * K * BLOCK);
            let rows = line.rows.as_ptr().add(group * GROUP);
            let [a, b, c, d] = [0, 1, 2, 3].map(|at| *rows.add(at));
            columns!(AT < (M - 1) * S * P + K; 0 1 2 3 4 5 6 7 8 9 10 11 12 => {
                let column = first.wrapping_add(AT * line.conv.dilation);
                let read = |row| load::<WHOLE, P, INSIDE>(line, row, column);
                let values = interleaved(read(a), read(b), read(c), read(d));
                let weights = anew(weights);
                for (m, sums) in sums.iter_mut().enumerate() {
                    // No column of the kernel where vector `m` lies behind the input.
                    let column = AT.wrapping_sub(m * S * P);
                    if column < K {
                        for at in 0..4 {
                            let from = weights.add((4 * column + at) * 16);
                            let weights = _mm512_loadu_si512(from.cast());
                            sums[at] = _mm512_dpbusd_epi32(sums[at], values[at], weights);
                        }
                    }
                }
            });
        }
        for (m, sums) in sums.into_iter().enumerate() {
            match line.out.is_null() {
                true => store_floats::<P>(line, x + m * P, sums),
                false => store_bytes::<WHOLE, P>(line, x + m * P, sums),
            }
        }
    }

    /// Returns an address that is not known to be that of values which were loaded before: those would be
    /// kept, and take the registers of sums.
    #[inline(always)]
    unsafe fn anew(at: *const f32) -> *const f32 {
        let mut address = at.addr();
        std::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
        at.with_addr(address)
    }

    /// Returns the bytes of four lines side by side.
    #[inline(always)]
    unsafe fn interleaved(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
        let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let (ef, gh) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
        [
            _mm512_unpacklo_epi16(ab, cd),
            _mm512_unpackhi_epi16(ab, cd),
            _mm512_unpacklo_epi16(ef, gh),
            _mm512_unpackhi_epi16(ef, gh),
        ]
    }

    /// The channels of a block that exist.
    #[inline(always)]
    fn mask(line: &ByteLine<'_>) -> __mmask64 {
        (1 << line.channels) - 1
    }

    /// Returns the bytes of a line at a column, and of the next one where a vector holds two pixels.
    #[inline(always)]
    unsafe fn load<const WHOLE: bool, const P: usize, const INSIDE: bool>(
        line: &ByteLine<'_>,
        (row, pitch): (*const u8, usize),
        column: usize,
    ) -> __m512i {
        let at = |column: usize| {
            let from = match INSIDE || column < line.width {
                true => row.wrapping_add(column.wrapping_mul(pitch)),
                false => line.border,
            };
            match WHOLE {
                true => _mm512_loadu_si512(from.cast()),
                false => _mm512_maskz_loadu_epi8(mask(line), from.cast()),
            }
        };
        match P {
            1 => at(column),
            _ => {
                let next = _mm512_castsi512_si256(at(column.wrapping_add(1)));
                _mm512_inserti64x4::<1>(at(column), next)
            }
        }
    }

    /// Returns what a vector of sums stands for.
    #[inline(always)]
    unsafe fn numbers(line: &ByteLine<'_>, at: usize, sums: __m512i) -> __m512 {
        let of = |each: &[f32; BLOCK]| _mm512_load_ps(each.as_ptr().add(16 * at));
        let (scale, bias) = (of(&line.ends.scales), of(&line.ends.bias));
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, bias)
    }

    #[inline(always)]
    unsafe fn store_bytes<const WHOLE: bool, const P: usize>(
        line: &ByteLine<'_>,
        x: usize,
        sums: [__m512i; 4],
    ) {
        let mut whole = sums;
        for (at, sums) in whole.iter_mut().enumerate() {
            // What is beyond 32 bits would become the least number.
            let bounded = _mm512_min_ps(numbers(line, at, *sums), _mm512_set1_ps(65535.0));
            *sums = _mm512_cvtps_epi32(bounded);
        }
        // Packing saturates, and brings channels back to their order.
        let zero_point = _mm512_load_si512(line.ends.zero_point.as_ptr().cast());
        let low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero_point);
        let high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero_point);
        let bytes = _mm512_packus_epi16(low, high);
        let least = _mm512_load_si512(line.ends.least.as_ptr().cast());
        let most = _mm512_load_si512(line.ends.most.as_ptr().cast());
        let bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, least), most);
        let to = line.out.add(x * line.out_pitch);
        match WHOLE {
            true => _mm512_storeu_si512(to.cast(), bytes),
            false => _mm512_mask_storeu_epi8(to.cast(), mask(line), bytes),
        }
        if P > 1 {
            let next = _mm512_shuffle_i64x2::<0b01_00_11_10>(bytes, bytes);
            _mm512_mask_storeu_epi8(to.add(line.out_pitch).cast(), mask(line), next);
        }
    }

    #[inline(always)]
    unsafe fn store_floats<const P: usize>(line: &ByteLine<'_>, x: usize, sums: [__m512i; 4]) {
        for (at, sums) in sums.into_iter().enumerate() {
            let value = activated(Avx512(numbers(line, at, sums)), line.ends.activation);
            let mut lanes = [0.0; 16];
            _mm512_storeu_ps(lanes.as_mut_ptr(), value.0);
            for (quarter, four) in lanes.chunks_exact(4).enumerate() {
                let place = 16 * quarter + 4 * at;
                let (pixel, channel) = (x + place / (BLOCK / P), place % (BLOCK / P));
                if channel < line.channels {
                    let to = line.floats.add(pixel * line.floats_pitch + channel);
                    std::ptr::copy_nonoverlapping(four.as_ptr(), to, 4);
                }
            }
        }
    }
}
