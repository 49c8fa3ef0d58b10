//! The inner loop of depthwise convolutions along a line. Neighbouring outputs of a line mostly
//! read the same inputs, so each input is loaded once and multiplied by a line of the kernel.

use std::ops::Range;

use super::dots::HalfKernel;
use super::narrow::NarrowTile;
use super::reduced::{ByteForm, FloatForm, HalfForm, ReducedForm};
use super::tile::start;
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;
use crate::network::Conv2d;

/// The most lines of a kernel.
pub(super) const MOST_LINES: usize = 7;

/// The most pixels of a run. Floats that are not kept lie in scratch.
pub(super) const RUN_PIXELS: usize = 28;

/// Neighbouring pixels of one line of the output.
pub(super) struct LineRun {
    /// The lines of the image under each line of the kernel, from the first channel on, and the bytes from
    /// one pixel to the next: 0 of zeros, which lie outside of the image.
    pub rows: [(*const u8, usize); MOST_LINES],
    /// The zeros that replace a pixel outside of the image.
    pub zeros: *const u8,
    /// Pixels of a line of the image, and pixels to its left that are read as zeros.
    pub width: usize,
    pub padding: usize,
    /// Lines of the kernel.
    pub lines: usize,
    /// The pixels of the output's line.
    pub columns: Range<usize>,
    /// All else, from the first pixel on; its values and the offsets of its rows are not used.
    pub tile: NarrowTile,
}

/// A run's function.
///
/// # Safety
/// As for [`NarrowTileFn`](super::narrow::NarrowTileFn), of numbers of the function's form at each pixel of
/// the lines.
pub(super) type LineRunFn = unsafe fn(&LineRun);

/// Returns whether a function exists for a depthwise convolution.
pub(super) fn runs(conv: Conv2d) -> bool {
    matches!((conv.kernel.width, conv.stride), (3 | 5 | 7, 1 | 2))
        && conv.dilation == 1
        && conv.kernel.height <= MOST_LINES
}

/// Returns the function for a convolution that [`runs`], over reduced numbers, or floats.
pub(super) fn line_fn(family: Family, numbers: Option<ReducedNumbers>, conv: Conv2d) -> LineRunFn {
    match numbers {
        None => of_form::<FloatForm>(family, conv),
        #[cfg(target_arch = "x86_64")]
        Some(ReducedNumbers::Bf16) if HalfKernel::for_family(family).is_native() => {
            x86::native(conv)
        }
        Some(ReducedNumbers::Bf16) => of_form::<HalfForm>(family, conv),
        Some(ReducedNumbers::Bytes(_)) => of_form::<ByteForm>(family, conv),
    }
}

fn of_form<F: ReducedForm>(family: Family, conv: Conv2d) -> LineRunFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512::<F>(conv),
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2::<F>(conv),
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon::<F>(conv),
        _ => plain::<F>(conv),
    }
}

/// Matches a convolution to instances of a function `f::<WIDTH, STRIDE>`.
macro_rules! instances {
    ($f:ident, $conv:expr) => {
        match ($conv.kernel.width, $conv.stride) {
            (3, 1) => $f::<F, 3, 1>,
            (5, 1) => $f::<F, 5, 1>,
            (7, 1) => $f::<F, 7, 1>,
            (3, _) => $f::<F, 3, 2>,
            (5, _) => $f::<F, 5, 2>,
            (7, _) => $f::<F, 7, 2>,
            (width, _) => unreachable!("no run of kernels {width} wide"),
        }
    };
}

fn plain<F: ReducedForm>(conv: Conv2d) -> LineRunFn {
    unsafe fn of<F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
        // SAFETY: guaranteed by `LineRunFn`.
        unsafe { run_single::<Plain, F, K, S>(line) }
    }
    instances!(of, conv)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::reduced::NativeHalfForm;
    use super::super::vector::{Avx2, Avx512};
    use super::{Conv2d, LineRun, LineRunFn, ReducedForm, run};

    pub(super) fn native(conv: Conv2d) -> LineRunFn {
        type F = NativeHalfForm;
        #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
        unsafe fn of<F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
            // SAFETY: guaranteed by `LineRunFn`; processors that multiply brain floats also round
            // to them.
            unsafe { run::<Avx512, F, K, S>(line) }
        }
        instances!(of, conv)
    }

    pub(super) fn avx512<F: ReducedForm>(conv: Conv2d) -> LineRunFn {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
            // SAFETY: guaranteed by `LineRunFn`.
            unsafe { run::<Avx512, F, K, S>(line) }
        }
        instances!(of, conv)
    }

    pub(super) fn avx2<F: ReducedForm>(conv: Conv2d) -> LineRunFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
            // SAFETY: guaranteed by `LineRunFn`.
            unsafe { run::<Avx2, F, K, S>(line) }
        }
        instances!(of, conv)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{Conv2d, LineRun, LineRunFn, ReducedForm, run};

    pub(super) fn neon<F: ReducedForm>(conv: Conv2d) -> LineRunFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
            // SAFETY: guaranteed by `LineRunFn`.
            unsafe { run::<Neon, F, K, S>(line) }
        }
        instances!(of, conv)
    }
}

/// Pixels that are computed together if a run has enough; sides of common images are multiples.
const SEVERAL: usize = 7;
const SOME: usize = 4;

/// Runs all vectors of channels, each for all pixels.
#[inline(always)]
unsafe fn run<V: Vector, F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
    let mut one = line.tile;
    for at in 0..line.tile.end.vectors {
        one.end.last = line.tile.end.lanes_of(at + 1, V::LANES);
        let channels = at * V::LANES * F::BYTES;
        // SAFETY: guaranteed by `LineRunFn` for each vector.
        unsafe {
            match line.columns.len() {
                SEVERAL.. => vector::<V, F, K, S, SEVERAL>(line, &one, channels),
                SOME..SEVERAL => vector::<V, F, K, S, SOME>(line, &one, channels),
                _ => vector::<V, F, K, S, 1>(line, &one, channels),
            }
        }
        one.advance::<F>(V::LANES, line.tile.end.taps * V::LANES);
    }
}

/// Runs all vectors of channels, each for one pixel at a time. Without vector instructions, several
/// pixels at once gain nothing, and their code is large.
#[inline(always)]
unsafe fn run_single<V: Vector, F: ReducedForm, const K: usize, const S: usize>(line: &LineRun) {
    let mut one = line.tile;
    for at in 0..line.tile.end.vectors {
        one.end.last = line.tile.end.lanes_of(at + 1, V::LANES);
        let channels = at * V::LANES * F::BYTES;
        // SAFETY: guaranteed by `LineRunFn` for each vector.
        unsafe { vector::<V, F, K, S, 1>(line, &one, channels) };
        one.advance::<F>(V::LANES, line.tile.end.taps * V::LANES);
    }
}

/// Runs one vector of channels, `M` pixels at a time. The last pixels may be computed twice.
#[inline(always)]
unsafe fn vector<V: Vector, F: ReducedForm, const K: usize, const S: usize, const M: usize>(
    line: &LineRun,
    tile: &NarrowTile,
    channels: usize,
) {
    let columns = line.columns.clone();
    for x in columns.clone().step_by(M) {
        let x = x.min(columns.end - M);
        let tile = tile.skip_rows::<F>(x - columns.start);
        let is_inside = S * x >= line.padding && S * (x + M - 1) + K <= line.width + line.padding;
        // SAFETY: guaranteed by `LineRunFn`.
        unsafe {
            match is_inside {
                true => pixels::<V, F, K, S, M, true>(line, &tile, channels, x),
                false => pixels::<V, F, K, S, M, false>(line, &tile, channels, x),
            }
        }
    }
}

/// Repeats a block for each column of the input. A loop over the columns would move the sums out of
/// registers.
macro_rules! inputs {
    ($at:ident < $most:expr; $($n:literal)+ => $block:block) => {
        $(if $n < $most {
            const $at: usize = $n;
            $block
        })+
    };
}

/// Computes `M` pixels, beginning at pixel `x` of the line. `INSIDE` is set if all inputs lie
/// between the first and the last column of the image.
#[inline(always)]
unsafe fn pixels<
    V: Vector,
    F: ReducedForm,
    const K: usize,
    const S: usize,
    const M: usize,
    const INSIDE: bool,
>(
    line: &LineRun,
    tile: &NarrowTile,
    channels: usize,
    x: usize,
) {
    let (end, form) = (&tile.end, F::with(tile.bytes));
    let first = (S * x).wrapping_sub(line.padding);
    // SAFETY: guaranteed by `LineRunFn`. Column `AT` counts from the first pixel's column under the
    // first column of the kernel.
    unsafe {
        let mut sums = start::<V, M, 1>(end);
        for y in 0..line.lines {
            let (row, pitch) = line.rows[y];
            let row = row.wrapping_add(channels);
            let panel = end.panel.add(y * K * V::LANES);
            let mut weights = [V::splat(0.0); K];
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight = V::load(panel.add(k * V::LANES));
            }
            inputs!(AT < (M - 1) * S + K; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 => {
                let column = first.wrapping_add(AT);
                let from = match INSIDE || column < line.width {
                    true => row.wrapping_add(column.wrapping_mul(pitch)),
                    false => line.zeros,
                };
                let value: V = tile.load_at(form, from);
                for (m, sum) in sums.iter_mut().enumerate() {
                    // Not a column of the kernel if pixel `m` lies after the input.
                    let column = AT.wrapping_sub(m * S);
                    if column < K {
                        sum[0] = sum[0].mul_add(value, weights[column]);
                    }
                }
            });
        }
        tile.finish::<V, F, M>(sums);
    }
}
