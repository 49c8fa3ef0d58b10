//! The inner loop: a few neighbouring pixels of a line, of one block of channels.

use super::MOST_LINES;
use super::ends::BlockEnds;
use crate::network::Conv2d;

/// One line of the output, of one block of channels.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "kernels of x86-64 alone read them")
)]
pub(super) struct ReducedLine<'a> {
    /// The lines of the image under each line of the kernel, and the bytes from one pixel to the
    /// next: 0 for the border, which lies outside of the image.
    pub rows: [(*const u8, usize); MOST_LINES],
    /// The vector of numbers that replaces a pixel outside of the image.
    pub border: *const u8,
    /// Pixels of a line of the image.
    pub width: usize,
    pub conv: Conv2d,
    /// For each group of lines of the kernel and each column, a vector of weights for each vector
    /// of sums.
    pub weights: *const f32,
    pub ends: &'a BlockEnds,
    /// Channels of the block, whole groups.
    pub channels: usize,
    /// Pixels of the line.
    pub columns: usize,
    /// The destination of numbers, or null if floats are written, and the bytes from one pixel to
    /// the next.
    pub out: *mut u8,
    pub out_pitch: usize,
    pub floats: *mut f32,
    pub floats_pitch: usize,
}

/// A line's function.
///
/// # Safety
/// The processor has the instructions required by [`suits`](super::suits); rows have `width` pixels
/// of `channels` numbers, out or floats have `columns` pixels of `channels` numbers, and nothing
/// else uses these meanwhile.
pub(super) type ReducedLineFn = unsafe fn(&ReducedLine<'_>);

/// Returns the function for a convolution that [`suits`](super::suits), for lines of `columns`
/// columns and blocks of `channels` channels.
#[cfg(target_arch = "x86_64")]
pub(super) fn line_fn(conv: Conv2d, columns: usize, channels: usize) -> ReducedLineFn {
    x86::line_fn(conv, columns, channels)
}

/// Returns a function that does nothing, because no convolution [`suits`](super::suits).
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn line_fn(_: Conv2d, _: usize, _: usize) -> ReducedLineFn {
    unsafe fn nothing(_: &ReducedLine<'_>) {}
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
    use super::super::lanes;
    use super::super::{GROUP, VECTOR};
    use super::{ReducedLine, ReducedLineFn};
    use crate::network::Conv2d;

    /// Vectors that are computed together if lines have enough.
    const SEVERAL: usize = 4;

    /// Vectors of sums of a block.
    const SUMS: usize = 4;

    pub(super) fn line_fn(conv: Conv2d, columns: usize, channels: usize) -> ReducedLineFn {
        let several = conv.dilation == 1 && conv.stride <= 2 && columns >= SEVERAL;
        let paired = several && conv.stride == 1 && columns >= 2 * SEVERAL;
        if channels == VECTOR {
            of_width::<true>(conv, several)
        } else if paired && channels <= VECTOR / 2 {
            paired_fn(conv)
        } else {
            of_width::<false>(conv, several)
        }
    }

    fn of_width<const WHOLE: bool>(conv: Conv2d, several: bool) -> ReducedLineFn {
        match (conv.kernel.width, conv.stride, several) {
            (3, 1, true) => several_fn::<3, 1, WHOLE, 1>(),
            (3, _, true) => several_fn::<3, 2, WHOLE, 1>(),
            (5, 1, true) => several_fn::<5, 1, WHOLE, 1>(),
            (5, _, true) => several_fn::<5, 2, WHOLE, 1>(),
            (7, 1, true) => several_fn::<7, 1, WHOLE, 1>(),
            (7, _, true) => several_fn::<7, 2, WHOLE, 1>(),
            (3, _, false) => single_fn::<3, WHOLE>(),
            (5, _, false) => single_fn::<5, WHOLE>(),
            (7, _, false) => single_fn::<7, WHOLE>(),
            (width, ..) => unreachable!("no tile of kernels {width} wide"),
        }
    }

    /// Returns the function for half a block of channels; a vector then holds two pixels.
    fn paired_fn(conv: Conv2d) -> ReducedLineFn {
        match conv.kernel.width {
            3 => several_fn::<3, 1, false, 2>(),
            5 => several_fn::<5, 1, false, 2>(),
            7 => several_fn::<7, 1, false, 2>(),
            width => unreachable!("no tile of kernels {width} wide"),
        }
    }

    fn several_fn<const K: usize, const S: usize, const WHOLE: bool, const P: usize>()
    -> ReducedLineFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
        unsafe fn line<const K: usize, const S: usize, const WHOLE: bool, const P: usize>(
            line: &ReducedLine<'_>,
        ) {
            walk::<K, S, SEVERAL, WHOLE, P>(line)
        }
        line::<K, S, WHOLE, P>
    }

    /// Returns the function for one vector at a time, of any stride and dilation.
    fn single_fn<const K: usize, const WHOLE: bool>() -> ReducedLineFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
        unsafe fn line<const K: usize, const WHOLE: bool>(line: &ReducedLine<'_>) {
            walk::<K, 1, 1, WHOLE, 1>(line)
        }
        line::<K, WHOLE>
    }

    /// Computes a line of a kernel `K` wide, `M` vectors at a time of `P` pixels that are `S` columns
    /// apart. The last pixels may be computed twice.
    #[inline(always)]
    unsafe fn walk<
        const K: usize,
        const S: usize,
        const M: usize,
        const WHOLE: bool,
        const P: usize,
    >(
        line: &ReducedLine<'_>,
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

    /// Computes `M` vectors, beginning at pixel `x` of the line. `INSIDE` is set if all inputs lie
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
        line: &ReducedLine<'_>,
        x: usize,
    ) {
        let mut sums = [[_mm512_setzero_si512(); 4]; M];
        for at in 0..SUMS {
            let start = _mm512_load_si512(line.ends.starts.as_ptr().add(16 * at).cast());
            for sums in &mut sums {
                sums[at] = start;
            }
        }
        let first = (x * line.conv.stride).wrapping_sub(line.conv.padding.width);
        for group in 0..line.conv.kernel.height.div_ceil(GROUP) {
            let weights = line.weights.add(group * K * VECTOR);
            let rows = line.rows.as_ptr().add(group * GROUP);
            let rows: [_; GROUP] = std::array::from_fn(|at| *rows.add(at));
            unrolled!(AT < (M - 1) * S * P + K; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 => {
                let column = first.wrapping_add(AT * line.conv.dilation);
                let read = |at: usize| {
                    let (row, pitch) = rows[at];
                    load::<WHOLE, P, INSIDE>(line, row, pitch, column)
                };
                let values = lanes::interleaved(read);
                let weights = opaque(weights);
                for (m, sums) in sums.iter_mut().enumerate() {
                    // Not a column of the kernel if vector `m` lies after the input.
                    let column = AT.wrapping_sub(m * S * P);
                    if column < K {
                        for at in 0..SUMS {
                            let from = weights.add((SUMS * column + at) * 16);
                            let weights = _mm512_loadu_si512(from.cast());
                            sums[at] = lanes::dot(sums[at], values[at], weights);
                        }
                    }
                }
            });
        }
        for (m, sums) in sums.into_iter().enumerate() {
            match line.out.is_null() {
                true => store_floats::<P>(line, x + m * P, sums),
                false => store::<WHOLE, P>(line, x + m * P, sums),
            }
        }
    }

    /// Returns the address in a way that hides its origin from the compiler. Otherwise the compiler
    /// would keep the values loaded before, in registers that the sums need.
    #[inline(always)]
    unsafe fn opaque(at: *const f32) -> *const f32 {
        let mut address = at.addr();
        std::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
        at.with_addr(address)
    }

    /// The bytes of the channels of a block that exist.
    #[inline(always)]
    fn mask(line: &ReducedLine<'_>) -> __mmask64 {
        (1 << line.channels) - 1
    }

    /// Returns the numbers of a line at a column, and of the next column if a vector holds two
    /// pixels.
    #[inline(always)]
    unsafe fn load<const WHOLE: bool, const P: usize, const INSIDE: bool>(
        line: &ReducedLine<'_>,
        row: *const u8,
        pitch: usize,
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

    #[inline(always)]
    unsafe fn store<const WHOLE: bool, const P: usize>(
        line: &ReducedLine<'_>,
        x: usize,
        sums: [__m512i; 4],
    ) {
        let numbers = lanes::reduced(line.ends, sums);
        let to = line.out.add(x * line.out_pitch);
        match WHOLE {
            true => _mm512_storeu_si512(to.cast(), numbers),
            false => _mm512_mask_storeu_epi8(to.cast(), mask(line), numbers),
        }
        if P > 1 {
            let next = _mm512_shuffle_i64x2::<0b01_00_11_10>(numbers, numbers);
            _mm512_mask_storeu_epi8(to.add(line.out_pitch).cast(), mask(line), next);
        }
    }

    #[inline(always)]
    unsafe fn store_floats<const P: usize>(line: &ReducedLine<'_>, x: usize, sums: [__m512i; 4]) {
        for at in 0..SUMS {
            let value = lanes::float(line.ends, at, sums[at]);
            let value = activated(Avx512(value), line.ends.activation);
            let mut lanes = [0.0; 16];
            _mm512_storeu_ps(lanes.as_mut_ptr(), value.0);
            for (quarter, four) in lanes.chunks_exact(4).enumerate() {
                let place = VECTOR / 4 * quarter + 4 * at;
                let (pixel, channel) = (x + place / (VECTOR / P), place % (VECTOR / P));
                if channel < line.channels {
                    let to = line.floats.add(pixel * line.floats_pitch + channel);
                    let count = (line.channels - channel).min(4);
                    std::ptr::copy_nonoverlapping(four.as_ptr(), to, count);
                }
            }
        }
    }
}
