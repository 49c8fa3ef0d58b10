//! The inner loop of depthwise convolutions of stride 1. Neighbouring outputs of a line read
//! mostly the same inputs: each is loaded once, and multiplied by a line of the kernel.

use super::tile::{Tile, TileFn, finish, start};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;

/// Returns the function for a kernel `width` wide and `rows` outputs, at most
/// [`NARROW_ROWS`](super::narrow::NARROW_ROWS); `None` for widths other than 3, 5 and 7.
///
/// Its tile is that of [`narrow_fn`](super::narrow::narrow_fn) for groups of one channel, with
/// rows that are neighbours in one line of the output.
pub(super) fn line_fn(family: Family, width: usize, rows: usize) -> Option<TileFn> {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512(width, rows),
        #[cfg(target_arch = "x86_64")]
        Family::Avx2 => x86::avx2(width, rows),
        #[cfg(target_arch = "aarch64")]
        Family::Neon => arm::neon(width, rows),
        _ => plain(width, rows),
    }
}

/// Matches width and rows to instances of a function `f::<WIDTH, ROWS>`.
macro_rules! instances {
    ($f:ident, $at:expr; $($width:literal)+) => {
        match $at {
            $(
                ($width, 1) => Some($f::<$width, 1>),
                ($width, 2) => Some($f::<$width, 2>),
                ($width, 3) => Some($f::<$width, 3>),
                ($width, 4) => Some($f::<$width, 4>),
                ($width, 5) => Some($f::<$width, 5>),
                ($width, 6) => Some($f::<$width, 6>),
                ($width, 7) => Some($f::<$width, 7>),
                ($width, 8) => Some($f::<$width, 8>),
            )+
            _ => None,
        }
    };
}

fn plain(width: usize, rows: usize) -> Option<TileFn> {
    unsafe fn of<const K: usize, const M: usize>(tile: &Tile) {
        // SAFETY: as `line_fn` says.
        unsafe { run::<Plain, K, M>(tile) }
    }
    instances!(of, (width, rows); 3 5 7)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{Tile, TileFn, run};

    pub(super) fn avx512(width: usize, rows: usize) -> Option<TileFn> {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<const K: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Avx512, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }

    pub(super) fn avx2(width: usize, rows: usize) -> Option<TileFn> {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const K: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Avx2, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{Tile, TileFn, run};

    pub(super) fn neon(width: usize, rows: usize) -> Option<TileFn> {
        #[target_feature(enable = "neon")]
        unsafe fn of<const K: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `line_fn` says.
            unsafe { run::<Neon, K, M>(tile) }
        }
        instances!(of, (width, rows); 3 5 7)
    }
}

/// Runs all vectors of the rows.
#[inline(always)]
unsafe fn run<V: Vector, const K: usize, const M: usize>(tile: &Tile) {
    let mut one = *tile;
    for at in 1..=tile.vectors {
        one.last = tile.lanes_of(at, V::LANES);
        // SAFETY: as `line_fn` says, for each vector.
        unsafe { vector::<V, K, M>(&one) };
        one.advance(V::LANES, tile.taps * V::LANES);
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
unsafe fn vector<V: Vector, const K: usize, const M: usize>(tile: &Tile) {
    // SAFETY: as `TileFn` says. Input `AT` is that of output `AT` under the first column of the
    // kernel, and that of the last output under a later one.
    unsafe {
        let mut sums = start::<V, M, 1>(tile);
        for line in 0..tile.taps / K {
            let rows = tile.rows.add(line * K * tile.rows_stride);
            let panel = tile.panel.add(line * K * V::LANES);
            let mut weights = [V::splat(0.0); K];
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight = V::load(panel.add(k * V::LANES));
            }
            inputs!(AT < M + K - 1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 => {
                let row = if AT < M {
                    *rows.add(AT)
                } else {
                    *rows.add((AT + 1 - M) * tile.rows_stride + M - 1)
                };
                // Offsets of zeros wrap around to before the base.
                let from = tile.base.wrapping_add(row);
                let value = if tile.last == V::LANES {
                    V::load(from)
                } else {
                    V::load_part(from, tile.last)
                };
                for (m, sum) in sums.iter_mut().enumerate() {
                    // No column of the kernel where output `m` lies behind the input.
                    let column = AT.wrapping_sub(m);
                    if column < K {
                        sum[0] = sum[0].mul_add(value, weights[column]);
                    }
                }
            });
        }
        finish::<V, M, 1>(tile, sums);
    }
}
