//! The inner loop of products of reduced numbers: a few rows times a panel, summed in float32 or in
//! whole numbers of 32 bits.

use super::super::dots::{DotKernel, HalfKernel, PlainDot, WidenedDot, multiply};
use super::super::tile::prefetch_rows;
use super::super::vector::{Plain, Vector};
use super::finish::{finish, finish_bytes};
use super::form::ReducedForm;
use super::kernel::ReducedKernel;
use super::operands::ReducedTile;
use super::sums::ReducedSums;
use crate::compute::family::Family;

/// A tile's function for one kernel and size.
///
/// # Safety
/// The processor has the kernel's instructions. For all rows of each tap, `depth` groups can be
/// read at `values` plus their offset; non-null residual and out have enough rows of the columns
/// written. All else is as for [`TileFn`](super::super::tile::TileFn).
pub(super) type ReducedTileFn = unsafe fn(&ReducedTile);

/// Returns the function for `rows × vectors`, each at least 1 and within the bounds of
/// [`ReducedKernel::shape`].
pub(super) fn reduced_fn(kernel: ReducedKernel, vectors: usize, rows: usize) -> ReducedTileFn {
    use ReducedKernel::{Bytes, Halves};
    match kernel {
        #[cfg(target_arch = "x86_64")]
        Halves(HalfKernel::Native) => x86::native(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Halves(HalfKernel::Widened(Family::Avx512)) => x86::avx512(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Halves(HalfKernel::Widened(Family::Avx2Vnni | Family::Avx2)) => x86::avx2(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        Halves(HalfKernel::Widened(Family::NeonDot | Family::Neon)) => arm::neon(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Bytes(DotKernel::Vnni) => x86::vnni(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Bytes(DotKernel::AvxVnni) => x86::avx_vnni(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Bytes(DotKernel::Avx2) => x86::avx2_bytes(vectors, rows),
        #[cfg(target_arch = "x86_64")]
        Bytes(DotKernel::Avx2Wide) => x86::avx2_wide(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        Bytes(DotKernel::NeonDot) => arm::neon_dot(vectors, rows),
        #[cfg(target_arch = "aarch64")]
        Bytes(DotKernel::Neon) => arm::neon_bytes(vectors, rows),
        Halves(_) => plain::<WidenedDot<Plain>>(vectors, rows),
        Bytes(_) => plain::<PlainDot>(vectors, rows),
    }
}

fn plain<D: ReducedSums>(vectors: usize, rows: usize) -> ReducedTileFn {
    tile_instances!(run<D>, (vectors, rows); 1: 1 2 3 4 5 6; 2: 1 2 3 4;)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::super::dots::x86::{Avx2Dot, Avx2WideDot, AvxVnniDot, VnniDot};
    use super::super::super::dots::{WidenedDot, native::Bf16Dot};
    use super::super::super::vector::{Avx2, Avx512};
    use super::{ReducedTile, ReducedTileFn, run};

    pub(super) fn native(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<Bf16Dot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn avx512(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx512f")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<WidenedDot<Avx512>, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5;)
    }

    pub(super) fn avx2(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<WidenedDot<Avx2>, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4;)
    }

    pub(super) fn vnni(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<VnniDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn avx_vnni(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma,avxvnni")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<AvxVnniDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6;)
    }

    pub(super) fn avx2_bytes(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<Avx2Dot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5;)
    }

    pub(super) fn avx2_wide(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<Avx2WideDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4;)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::super::super::dots::WidenedDot;
    use super::super::super::dots::arm::{NeonDot, NeonWideDot};
    use super::super::super::vector::Neon;
    use super::{ReducedTile, ReducedTileFn, run};

    pub(super) fn neon(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<WidenedDot<Neon>, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn neon_dot(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "neon,dotprod")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
            unsafe { run::<NeonDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows);
            1: 1 2 3 4 5 6 7 8 9 10 11 12;
            2: 1 2 3 4 5 6 7 8 9 10 11 12;
            3: 1 2 3 4 5 6 7 8;
            4: 1 2 3 4 5 6;)
    }

    pub(super) fn neon_bytes(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "neon")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: guaranteed by `ReducedTileFn`.
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
unsafe fn run<D: ReducedSums, const M: usize, const N: usize>(tile: &ReducedTile) {
    // SAFETY: guaranteed by `ReducedTileFn`.
    unsafe {
        let mut sums = [[D::zero(); N]; M];
        for n in 0..N {
            let begin = D::begin(tile, n * D::Float::LANES);
            for row in &mut sums {
                row[n] = begin;
            }
        }
        prefetch::<D, M, N>(tile);
        multiply(tile.values, &tile.end, &mut sums);
        // A constant first, so that sums of floats have no code for bytes.
        if D::Form::HAS_NAN {
            finish(tile, sums);
        } else if tile.is_of_bytes_alone() {
            finish_bytes(tile, sums);
        } else {
            finish(tile, sums);
        }
    }
}

/// Brings the rows that are written and added into cache.
#[inline(always)]
unsafe fn prefetch<D: ReducedSums, const M: usize, const N: usize>(tile: &ReducedTile) {
    let end = &tile.end;
    if end.prefetch.step == 0 {
        return;
    }
    let floats = |at: *const u8| at.cast::<f32>();
    let each = 4 / D::BYTES;
    // SAFETY: nothing is read.
    unsafe {
        if !end.out.is_null() {
            prefetch_rows::<D::Float, M, N>(end.out, end.out_stride);
        }
        if !tile.out.is_null() {
            prefetch_rows::<D::Float, M, N>(floats(tile.out), tile.out_stride / each);
        }
        if !end.residual.is_null() {
            prefetch_rows::<D::Float, M, N>(end.residual, end.residual_stride);
        }
        if !tile.residual.is_null() {
            prefetch_rows::<D::Float, M, N>(floats(tile.residual), tile.residual_stride / each);
        }
    }
}
