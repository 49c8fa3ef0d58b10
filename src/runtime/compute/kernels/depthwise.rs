//! The inner loop of depthwise convolutions of stride 1. Neighbouring outputs of a line read
//! mostly the same inputs: each is loaded once, and multiplied by a line of the kernel.

use super::narrow::{NarrowTile, NarrowTileFn};
use super::reduced::{ByteForm, FloatForm, HalfForm, ReducedForm};
use super::tile::{finish, start};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::compute::reduced::ReducedNumbers;

/// Returns the function for a kernel `width` wide and `rows` outputs, at most
/// [`NARROW_ROWS`](super::narrow::NARROW_ROWS); `None` for widths other than 3, 5 and 7.
///
/// Its tile is that of [`narrow_fn`](super::narrow::narrow_fn) for groups of one channel, with
/// rows that are neighbours in one line of the output.
pub(super) fn line_fn(
    family: Family,
    numbers: Option<ReducedNumbers>,
    width: usize,
    rows: usize,
) -> Option<NarrowTileFn> {
    match numbers {
        None => of_form::<FloatForm>(family, width, rows),
        Some(ReducedNumbers::Bf16) => of_form::<HalfForm>(family, width, rows),
        Some(ReducedNumbers::Bytes(_)) => of_form::<ByteForm>(family, width, rows),
    }
}

fn of_form<F: ReducedForm>(family: Family, width: usize, rows: usize) -> Option<NarrowTileFn> {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512::<F>(width, rows),
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2::<F>(width, rows),
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon::<F>(width, rows),
        _ => plain::<F>(width, rows),
    }
}

/// Matches width and rows to instances of a function `f::<WIDTH, ROWS>`.
macro_rules! instances {
    ($f:ident, $at:expr; $($width:literal)+) => {
        match $at {
            $(
                ($width, 1) => Some($f::<F, $width, 1>),
                ($width, 2) => Some($f::<F, $width, 2>),
                ($width, 3) => Some($f::<F, $width, 3>),
                ($width, 4) => Some($f::<F, $width, 4>),
                ($width, 5) => Some($f::<F, $width, 5>),
                ($width, 6) => Some($f::<F, $width, 6>),
                ($width, 7) => Some($f::<F, $width, 7>),
                ($width, 8) => Some($f::<F, $width, 8>),
            )+
            _ => None,
        }
    };
}

fn plain<F: ReducedForm>(width: usize, rows: usize) -> Option<NarrowTileFn> {
    unsafe fn of<F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
        // SAFETY: as `line_fn` says.
        unsafe { run::<Plain, F, K, M>(tile) }
    }
    instances!(of, (width, rows); 3 5 7)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{NarrowTile, NarrowTileFn, ReducedForm, run};

    pub(super) fn avx512<F: ReducedForm>(width: usize, rows: usize) -> Option<NarrowTileFn> {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Avx512, F, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }

    pub(super) fn avx2<F: ReducedForm>(width: usize, rows: usize) -> Option<NarrowTileFn> {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Avx2, F, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{NarrowTile, NarrowTileFn, ReducedForm, run};

    pub(super) fn neon<F: ReducedForm>(width: usize, rows: usize) -> Option<NarrowTileFn> {
        #[target_feature(enable = "neon")]
        unsafe fn of<F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Neon, F, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }
}

/// Runs all vectors of the rows.
#[inline(always)]
unsafe fn run<V: Vector, F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
    let mut one = *tile;
    for at in 1..=tile.end.vectors {
        one.end.last = tile.end.lanes_of(at, V::LANES);
        // SAFETY: as `line_fn` says, for each vector.
        unsafe { vector::<V, F, K, M>(&one) };
        one.advance::<F>(V::LANES, tile.end.taps * V::LANES);
    }
}

/// Repeats a block for each number of an input, since sums stay in registers only where no loop
/// chooses among them.
macro_rules! inputs {
    ($at:ident < $most:expr; $($n:literal)+ => $block:block) => {
        $(if $n < $most {
            const $at: usize = $n;
            $block
        })+
    };
}

#[inline(always)]
unsafe fn vector<V: Vector, F: ReducedForm, const K: usize, const M: usize>(tile: &NarrowTile) {
    let (end, form) = (&tile.end, F::with(tile.bytes));
    // SAFETY: as `NarrowTileFn` says. Input `AT` is that of output `AT` under the first column of the
    // kernel, and that of the last output under a later one.
    unsafe {
        let mut sums = start::<V, M, 1>(end);
        for line in 0..end.taps / K {
            let rows = end.rows.add(line * K * end.rows_stride);
            let panel = end.panel.add(line * K * V::LANES);
            let mut weights = [V::splat(0.0); K];
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight = V::load(panel.add(k * V::LANES));
            }
            inputs!(AT < M + K - 1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 => {
                let row = if AT < M {
                    *rows.add(AT)
                } else {
                    *rows.add((AT + 1 - M) * end.rows_stride + M - 1)
                };
                let value: V = tile.load(form, row);
                for (m, sum) in sums.iter_mut().enumerate() {
                    // No column of the kernel where output `m` lies behind the input.
                    let column = AT.wrapping_sub(m);
                    if column < K {
                        sum[0] = sum[0].mul_add(value, weights[column]);
                    }
                }
            });
        }
        finish::<V, M, 1>(end, sums);
    }
}
