//! The inner loop of products: a few rows times a panel, kept in registers until done.
//!
//! Rows are found through a table of offsets, so that a convolution multiplies its input in place
//! (Dukhan, "The indirect convolution algorithm", arXiv 1907.02129). Bias, residual and activation
//! are applied before the sums are written.

use std::ops::Range;

use super::activations::{RowActivation, TileRows};
use super::vector::{Plain, Vector};
use crate::compute::family::Family;
use crate::network::Activation;

/// One tile of a product: `rows × (vectors · LANES)` results.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The address that offsets count from.
    pub base: *const f32,
    /// Offsets of the rows, `rows_stride` from one tap to the next.
    pub rows: *const usize,
    pub rows_stride: usize,
    pub taps: usize,
    /// Floats of a row for one tap.
    pub depth: usize,
    /// `[taps · depth, vectors · LANES]`.
    pub panel: *const f32,
    pub prefetch: Prefetch,
    /// One value a column, or null.
    pub bias: *const f32,
    /// First of the rows to add, or null.
    pub residual: *const f32,
    pub residual_stride: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    pub vectors: usize,
    /// Columns of the last vector that are written; `LANES` for all.
    pub last: usize,
    pub activation: Option<Activation>,
}

/// The share of the next panel that a tile brings into the second-level cache. Nothing is read, so
/// it may lie outside of any memory.
#[derive(Clone, Copy)]
pub(super) struct Prefetch {
    /// Floats from the start of the tile's panel to the beginning of the share.
    pub from: usize,
    /// Floats added with each line of the tile's panel; 0 prefetches nothing.
    pub step: usize,
}

impl Prefetch {
    /// No prefetch: the next panel is in cache.
    pub(super) const NOTHING: Prefetch = Prefetch { from: 0, step: 0 };

    /// Returns the shares of `tiles` tiles that multiply one panel of `lines` lines, `width` wide.
    /// The next panel lies after it. Each tile also prefetches its own destination.
    ///
    /// Weights of late layers are read once a batch, from beyond the second-level cache.
    pub(super) fn shares(
        lines: usize,
        width: usize,
        tiles: usize,
    ) -> impl Iterator<Item = Prefetch> {
        let step = width.div_ceil(tiles.max(1));
        (0..tiles).map(move |tile| Prefetch {
            from: lines * (width + tile * step),
            step,
        })
    }
}

impl Tile {
    /// Returns the tile for only the values `part` of each row, of a tile with a single tap. Sums
    /// are written and continued from there; only the last part applies the activation.
    pub(super) fn part(mut self, part: Range<usize>, lanes: usize) -> Tile {
        if part.len() == self.depth {
            return self;
        }
        if part.start > 0 {
            self.bias = std::ptr::null();
            (self.residual, self.residual_stride) = (self.out, self.out_stride);
        }
        if part.end < self.depth {
            self.activation = None;
        }
        self.base = self.base.wrapping_add(part.start);
        self.panel = self.panel.wrapping_add(part.start * self.vectors * lanes);
        self.depth = part.len();
        self
    }

    /// Returns the columns that vector `at`, counted from 1, of all vectors writes.
    #[inline(always)]
    pub(super) fn lanes_of(&self, at: usize, lanes: usize) -> usize {
        if at == self.vectors { self.last } else { lanes }
    }

    /// Advances to the next vector of channels, whose panel begins `panel` floats later.
    #[inline(always)]
    pub(super) fn advance(&mut self, lanes: usize, panel: usize) {
        self.base = self.base.wrapping_add(lanes);
        self.panel = self.panel.wrapping_add(panel);
        self.out = self.out.wrapping_add(lanes);
        if !self.bias.is_null() {
            self.bias = self.bias.wrapping_add(lanes);
        }
        if !self.residual.is_null() {
            self.residual = self.residual.wrapping_add(lanes);
        }
    }

    /// Applies an activation that is not applied in registers to the `rows` rows written.
    ///
    /// # Safety
    /// The tile was run, its vectors have `lanes` lanes, and nothing else uses what it wrote.
    pub(super) unsafe fn pass(&self, pass: Option<RowActivation>, rows: usize, lanes: usize) {
        if let Some(pass) = pass {
            let written = TileRows {
                start: self.out,
                stride: self.out_stride,
                rows,
                columns: (self.vectors - 1) * lanes + self.last,
            };
            // SAFETY: the tile wrote this number of columns of these rows.
            unsafe { pass.rows(written) }
        }
    }
}

/// A tile's function for one family and size.
///
/// # Safety
/// The processor has the family's instructions. For all `rows` of each tap, `depth` floats
/// can be read at `base` plus their offset; the panel has `taps · depth` lines; bias has
/// a vector's worth for each vector; residual and out have `rows` rows of the columns
/// written, and nothing else uses out meanwhile.
pub(super) type TileFn = unsafe fn(&Tile);

/// Returns the function for `rows × vectors`, each at least 1 and within the family's bounds
/// ([`Vector::TILE_ROWS`]).
pub(super) fn tile_fn(family: Family, vectors: usize, rows: usize) -> TileFn {
    match family {
        #[cfg(target_arch = "x86_64")]
        Family::Avx512 => x86::avx512(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Family::Avx2Vnni | Family::Avx2 => x86::avx2(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        Family::NeonDot | Family::Neon => arm::neon(vectors, rows),
        _ => plain(vectors, rows),
    }
}

fn plain(vectors: usize, rows: usize) -> TileFn {
    unsafe fn of<const M: usize, const N: usize>(tile: &Tile) {
        // SAFETY: guaranteed by `TileFn`.
        unsafe { run::<Plain, M, N>(tile) }
    }
    tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6; 2: 1 2 3 4;)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::vector::{Avx2, Avx512};
    use super::{Tile, TileFn, run};

    pub(super) fn avx512(vectors: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<const M: usize, const N: usize>(tile: &Tile) {
            // SAFETY: guaranteed by `TileFn`.
            unsafe { run::<Avx512, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn avx2(vectors: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &Tile) {
            // SAFETY: guaranteed by `TileFn`.
            unsafe { run::<Avx2, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6;)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::vector::Neon;
    use super::{Tile, TileFn, run};

    pub(super) fn neon(vectors: usize, rows: usize) -> TileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<const M: usize, const N: usize>(tile: &Tile) {
            // SAFETY: guaranteed by `TileFn`.
            unsafe { run::<Neon, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }
}

#[inline(always)]
unsafe fn run<V: Vector, const M: usize, const N: usize>(tile: &Tile) {
    // SAFETY: guaranteed by `TileFn`.
    unsafe {
        let mut sums = start::<V, M, N>(tile);
        if tile.prefetch.step > 0 {
            prefetch_rows::<V, M, N>(tile.out, tile.out_stride);
            if !tile.residual.is_null() {
                prefetch_rows::<V, M, N>(tile.residual, tile.residual_stride);
            }
        }
        multiply(tile, &mut sums);
        finish(tile, sums);
    }
}

/// Brings the rows that a tile needs after its products into cache.
#[inline(always)]
pub(super) unsafe fn prefetch_rows<V: Vector, const M: usize, const N: usize>(
    at: *const f32,
    stride: usize,
) {
    for row in 0..M {
        for n in 0..N {
            // SAFETY: nothing is read.
            unsafe { V::prefetch_l1(at.wrapping_add(row * stride + n * V::LANES)) };
        }
    }
}

/// Returns the first sums of a tile: its bias.
///
/// # Safety
/// As for [`TileFn`].
#[inline(always)]
pub(super) unsafe fn start<V: Vector, const M: usize, const N: usize>(tile: &Tile) -> [[V; N]; M] {
    // SAFETY: bias is null or has a vector's worth for each vector.
    unsafe {
        let mut bias = [V::splat(0.0); N];
        if !tile.bias.is_null() {
            for (n, b) in bias.iter_mut().enumerate() {
                *b = V::load(tile.bias.add(n * V::LANES));
            }
        }
        [bias; M]
    }
}

#[inline(always)]
unsafe fn multiply<V: Vector, const M: usize, const N: usize>(tile: &Tile, sums: &mut [[V; N]; M]) {
    // SAFETY: `depth` floats at each row of each tap, and `taps · depth` lines of the panel.
    unsafe {
        let mut line = tile.panel;
        let mut ahead = line.wrapping_add(tile.prefetch.from);
        for tap in 0..tile.taps {
            let mut rows = [tile.base; M];
            for (m, row) in rows.iter_mut().enumerate() {
                // Offsets of zeros wrap around to before the base.
                *row = tile
                    .base
                    .wrapping_add(*tile.rows.add(tap * tile.rows_stride + m));
            }
            for k in 0..tile.depth {
                let mut weights = [V::splat(0.0); N];
                for (n, w) in weights.iter_mut().enumerate() {
                    *w = V::load(line.add(n * V::LANES));
                }
                line = line.add(N * V::LANES);
                V::prefetch_l2(ahead);
                ahead = ahead.wrapping_add(tile.prefetch.step);
                for m in 0..M {
                    let value = V::splat(*rows[m].add(k));
                    for n in 0..N {
                        sums[m][n] = sums[m][n].mul_add(value, weights[n]);
                    }
                }
            }
        }
    }
}

/// Adds the residual, applies the activation and writes.
///
/// # Safety
/// As for [`TileFn`].
#[inline(always)]
pub(super) unsafe fn finish<V: Vector, const M: usize, const N: usize>(
    tile: &Tile,
    mut sums: [[V; N]; M],
) {
    // SAFETY: residual (if present) and out have `M` rows of the columns written.
    unsafe {
        if !tile.residual.is_null() {
            for (m, row) in sums.iter_mut().enumerate() {
                let from = tile.residual.add(m * tile.residual_stride);
                for (n, sum) in row.iter_mut().enumerate() {
                    let at = from.add(n * V::LANES);
                    let whole = n + 1 < N || tile.last == V::LANES;
                    *sum = sum.add(if whole {
                        V::load(at)
                    } else {
                        V::load_part(at, tile.last)
                    });
                }
            }
        }
        for (m, row) in sums.iter().enumerate() {
            let to = tile.out.add(m * tile.out_stride);
            for (n, sum) in row.iter().enumerate() {
                let value = activated(*sum, tile.activation);
                let at = to.add(n * V::LANES);
                if n + 1 < N || tile.last == V::LANES {
                    value.store(at);
                } else {
                    value.store_part(at, tile.last);
                }
            }
        }
    }
}

/// Returns `value` with the activation applied if it is ReLU or ReLU6. Other activations pass over
/// the rows after the tile ([`RowActivation`](super::activations::RowActivation)).
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn activated<V: Vector>(value: V, activation: Option<Activation>) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match activation {
            Some(Activation::Relu) => value.relu(),
            Some(Activation::Relu6) => value.relu().at_most(6.0),
            _ => value,
        }
    }
}
