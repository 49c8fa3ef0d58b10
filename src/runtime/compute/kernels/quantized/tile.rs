//! The inner loop of products of bytes: a few rows times a panel. It sums whole numbers, and ends
//! as a tile of floats does.

use super::super::dots::{DotKernel, PlainDot, WholeDot, multiply};
use super::super::tile::{Prefetch, Tile, finish, prefetch_rows};
use super::super::vector::Vector;

/// One tile of a product of bytes.
#[derive(Clone, Copy)]
pub(super) struct DotTile {
    /// The address that offsets of rows count from, in bytes.
    pub values: *const u8,
    /// Scales and zero points of values. A number after the offsets selects those of each row.
    pub affine: *const [f32; 2],
    /// A scale for each column, and the sum of its weights.
    pub scales: *const f32,
    pub sums: *const i32,
    /// The number subtracted from the weights of each column, or null if all are 0. If not null,
    /// the sum of each row's values minus their zero points follows its scale.
    pub shifts: *const i32,
    /// Weights, bias, residual and output. A float of its panel is four weights of a column, and its
    /// depth counts these; its base is not used.
    pub end: Tile,
}

impl DotTile {
    /// Returns the tile that begins `rows` rows later.
    #[inline(always)]
    pub(super) fn further_on(&self, rows: usize, prefetch: Prefetch) -> Self {
        let end = &self.end;
        DotTile {
            end: Tile {
                rows: end.rows.wrapping_add(rows),
                // Null without a residual, whose stride is then 0.
                residual: end.residual.wrapping_add(rows * end.residual_stride),
                out: end.out.wrapping_add(rows * end.out_stride),
                prefetch,
                ..*end
            },
            ..*self
        }
    }
}

/// A tile's function for one kernel and size.
///
/// # Safety
/// The processor has the kernel's instructions. For all rows of each tap, `4 · depth` bytes can be
/// read at `values` plus their offset; each row has the number of a scale, followed by a sum if
/// there are shifts; scales, sums and shifts have a vector's worth for each vector. All else is as
/// for [`TileFn`](super::super::tile::TileFn).
pub(super) type DotTileFn = unsafe fn(&DotTile);

/// Returns the function for `rows × vectors`, each at least 1 and within the bounds of
/// [`DotKernel::shape`].
pub(super) fn dot_fn(kernel: DotKernel, vectors: usize, rows: usize) -> DotTileFn {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        DotKernel::Vnni => x86::vnni(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        DotKernel::AvxVnni => x86::avx_vnni(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        DotKernel::Avx2 => x86::avx2(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        DotKernel::Avx2Wide => x86::avx2_wide(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        DotKernel::NeonDot => arm::neon_dot(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        DotKernel::Neon => arm::neon(vectors, rows),
        _ => plain(vectors, rows),
    }
}

fn plain(vectors: usize, rows: usize) -> DotTileFn {
    unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
        // SAFETY: guaranteed by `DotTileFn`.
        unsafe { run::<PlainDot, M, N>(tile) }
    }
    tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6; 2: 1 2 3 4;)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::super::dots::x86::{Avx2Dot, Avx2WideDot, AvxVnniDot, VnniDot};
    use super::{DotTile, DotTileFn, run};

    pub(super) fn vnni(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<VnniDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn avx_vnni(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "avx2,fma,avxvnni")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<AvxVnniDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6;)
    }

    pub(super) fn avx2(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<Avx2Dot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5;)
    }

    pub(super) fn avx2_wide(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<Avx2WideDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4;)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::super::dots::arm::{NeonDot, NeonWideDot};
    use super::{DotTile, DotTileFn, run};

    pub(super) fn neon_dot(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "neon,dotprod")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<NeonDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn neon(vectors: usize, rows: usize) -> DotTileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<const M: usize, const N: usize>(tile: &DotTile) {
            // SAFETY: guaranteed by `DotTileFn`.
            unsafe { run::<NeonWideDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5;)
    }
}

#[inline(always)]
unsafe fn run<D: WholeDot, const M: usize, const N: usize>(tile: &DotTile) {
    let end = &tile.end;
    // SAFETY: guaranteed by `DotTileFn`.
    unsafe {
        if end.prefetch.step > 0 {
            prefetch_rows::<D::Float, M, N>(end.out, end.out_stride);
            if !end.residual.is_null() {
                prefetch_rows::<D::Float, M, N>(end.residual, end.residual_stride);
            }
        }
        let mut sums = [[D::zero(); N]; M];
        multiply(tile.values, end, &mut sums);
        finish(end, scaled(tile, sums));
    }
}

/// Returns sums as floats, with their bias: zero points subtracted, and scaled by column and row.
#[inline(always)]
unsafe fn scaled<D: WholeDot, const M: usize, const N: usize>(
    tile: &DotTile,
    sums: [[D; N]; M],
) -> [[D::Float; N]; M] {
    let end = &tile.end;
    let lanes = D::Float::LANES;
    // SAFETY: a vector's worth of scales, sums and (if present) bias for each vector, and a scale
    // for each row.
    unsafe {
        let mut floats = [[D::Float::splat(0.0); N]; M];
        let numbers = end.rows.add(end.taps * end.rows_stride);
        let mut rows = [(0.0, 0); M];
        let mut row_sums = [0; M];
        let mut shifted = false;
        for (m, row) in rows.iter_mut().enumerate() {
            let affine = tile.affine.add(*numbers.add(m));
            let [scale, zero_point] = *affine;
            *row = (scale, zero_point as i32 - D::SHIFT);
            shifted |= row.1 != 0;
            if !tile.shifts.is_null() {
                row_sums[m] = *affine.add(1).cast::<i32>();
            }
        }
        for n in 0..N {
            let mut bias = D::Float::splat(0.0);
            if !end.bias.is_null() {
                bias = D::Float::load(end.bias.add(n * lanes));
            }
            let scale = D::Float::load(tile.scales.add(n * lanes));
            let weights = D::load(tile.sums.add(n * lanes));
            for m in 0..M {
                let (by, zero_point) = rows[m];
                // After a ReLU the zero point is 0.
                let mut sum = match shifted {
                    true => sums[m][n].less(zero_point, weights),
                    false => sums[m][n],
                };
                if !tile.shifts.is_null() {
                    let shifts = D::load(tile.shifts.add(n * lanes));
                    sum = sum.less(row_sums[m].wrapping_neg(), shifts);
                }
                floats[m][n] = sum.float().mul(scale).mul(D::Float::splat(by)).add(bias);
            }
        }
        floats
    }
}
