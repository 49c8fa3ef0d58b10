//! The inner loop of depthwise and narrow grouped convolutions: a vector of output
//! channels reads the same channels of its input, each lane those of its own group.

use super::tile::{Tile, TileFn, finish, start};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;

/// The most rows of a tile.
pub(super) const NARROW_ROWS: usize = 8;

/// Returns the function for `rows` (at most [`NARROW_ROWS`]) of groups of `width` channels: 1, or
/// 4 or 8 where that is less than a vector.
///
/// Such a tile has any number of vectors, with panels one vector wide of `taps · width`
/// lines after each other; its depth is not read.
pub(super) fn narrow_fn(family: Family, width: usize, rows: usize) -> TileFn {
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
                ($width, 1) => $f::<$width, 1>,
                ($width, 2) => $f::<$width, 2>,
                ($width, 3) => $f::<$width, 3>,
                ($width, 4) => $f::<$width, 4>,
                ($width, 5) => $f::<$width, 5>,
                ($width, 6) => $f::<$width, 6>,
                ($width, 7) => $f::<$width, 7>,
                ($width, 8) => $f::<$width, 8>,
            )+
            (width, rows) => unreachable!("no tile of {rows} rows and groups of {width}"),
        }
    };
}

fn plain(width: usize, rows: usize) -> TileFn {
    unsafe fn of<const W: usize, const M: usize>(tile: &Tile) {
        // SAFETY: as `TileFn` says.
        unsafe { run::<Plain, W, M>(tile) }
    }
    instances!(of, (width, rows); 1)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{Tile, TileFn, run};

    pub(super) fn avx512(width: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<const W: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `TileFn` says.
            unsafe { run::<Avx512, W, M>(tile) }
        }
        instances!(of, (width, rows); 1 4 8)
    }

    pub(super) fn avx2(width: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const W: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `TileFn` says.
            unsafe { run::<Avx2, W, M>(tile) }
        }
        instances!(of, (width, rows); 1 4)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{Tile, TileFn, run};

    pub(super) fn neon(width: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<const W: usize, const M: usize>(tile: &Tile) {
            // SAFETY: as `TileFn` says.
            unsafe { run::<Neon, W, M>(tile) }
        }
        instances!(of, (width, rows); 1)
    }
}

/// Runs all vectors of the rows, which lie side by side.
#[inline(always)]
unsafe fn run<V: Vector, const W: usize, const M: usize>(tile: &Tile) {
    let mut one = *tile;
    let lines = tile.taps * W * V::LANES;
    // SAFETY: as `TileFn` says, for each vector.
    unsafe {
        for at in 1..=tile.vectors {
            one.last = tile.lanes_of(at, V::LANES);
            vector::<V, W, M>(&one);
            one.advance(V::LANES, lines);
        }
    }
}

#[inline(always)]
unsafe fn vector<V: Vector, const W: usize, const M: usize>(tile: &Tile) {
    // SAFETY: as `TileFn` says; each row has a vector of channels, or `last` of them.
    unsafe {
        let mut sums = start::<V, M, 1>(tile);
        let mut line = tile.panel;
        for tap in 0..tile.taps {
            let mut values = [V::splat(0.0); M];
            for (m, value) in values.iter_mut().enumerate() {
                // Offsets of zeros wrap around to before the base.
                let row = *tile.rows.add(tap * tile.rows_stride + m);
                let from = tile.base.wrapping_add(row);
                *value = if tile.last == V::LANES {
                    V::load(from)
                } else {
                    V::load_part(from, tile.last)
                };
            }
            for i in 0..W {
                let weights = V::load(line);
                line = line.add(V::LANES);
                for m in 0..M {
                    let value = if W == 1 {
                        values[m]
                    } else {
                        values[m].spread(W, i)
                    };
                    sums[m][0] = sums[m][0].mul_add(value, weights);
                }
            }
        }
        finish::<V, M, 1>(tile, sums);
    }
}
