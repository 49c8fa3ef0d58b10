//! The inner loop of products of reduced numbers: a few rows times a panel, summed in float32 or in
//! whole numbers of 32 bits.

use super::super::dots::{DotKernel, HalfKernel, PlainDot, WidenedDot, multiply};
use super::super::tile::{activated, prefetch_rows};
use super::super::vector::{Plain, Vector};
use super::form::StepForm;
use super::form::{FloatForm, ReducedForm};
use super::kernel::ReducedKernel;
use super::operands::ReducedTile;
use super::sums::ReducedSums;
use crate::compute::family::Family;

/// A tile's function for one kernel and size.
///
/// # Safety
/// The processor has the kernel's instructions. For all rows of each tap, `depth` groups can be read
/// at `values` plus their offset; residual and out, where they are not null, have as many rows of the
/// columns written. All else is as for [`TileFn`](super::super::tile::TileFn).
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
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
            unsafe { run::<WidenedDot<Avx2>, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4;)
    }

    pub(super) fn vnni(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
            unsafe { run::<AvxVnniDot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6;)
    }

    pub(super) fn avx2_bytes(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: as `ReducedTileFn` says.
            unsafe { run::<Avx2Dot, M, N>(tile) }
        }
        tile_instances!(of, (vectors, rows); 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5;)
    }

    pub(super) fn avx2_wide(vectors: usize, rows: usize) -> ReducedTileFn {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn of<const M: usize, const N: usize>(tile: &ReducedTile) {
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
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
            // SAFETY: as `ReducedTileFn` says.
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
    // SAFETY: as `ReducedTileFn` says.
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
        match tile.is_of_bytes_alone() && !D::Form::HAS_NAN {
            true => finish_bytes(tile, sums),
            false => finish(tile, sums),
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

/// Rounds, adds, applies the activation and writes, row by row. Loops alone: a closure would be compiled
/// without the instructions of the kernel.
#[inline(always)]
unsafe fn finish<D: ReducedSums, const M: usize, const N: usize>(
    tile: &ReducedTile,
    sums: [[D; N]; M],
) {
    // SAFETY: residuals and outs, where they are not null, have `M` rows of the columns written.
    unsafe {
        let mut columns = [D::column(tile, 0); N];
        for (n, column) in columns.iter_mut().enumerate().skip(1) {
            *column = D::column(tile, n * D::Float::LANES);
        }
        unrolled!(ROW < M; 0 1 2 3 4 5 6 7 8 9 10 11 => {
            let mut values = [D::Float::splat(0.0); N];
            for (n, value) in values.iter_mut().enumerate() {
                *value = sums[ROW][n].end(columns[n]);
            }
            finish_row::<D, N>(tile, ROW, values);
        });
    }
}

/// # Safety
/// As for [`finish`], of row `row`.
#[inline(always)]
unsafe fn finish_row<D: ReducedSums, const N: usize>(
    tile: &ReducedTile,
    row: usize,
    mut values: [D::Float; N],
) {
    let end = &tile.end;
    // SAFETY: handed on.
    unsafe {
        if let Some(rounding) = tile.rounding {
            for value in &mut values {
                *value = D::Form::with(rounding).round(*value);
            }
        }
        if !tile.shift.is_null() {
            for (n, value) in values.iter_mut().enumerate() {
                *value = value.add(D::Float::load(tile.shift.add(n * D::Float::LANES)));
            }
        }
        if !end.residual.is_null() {
            let from = (FloatForm, end.residual.cast(), end.residual_stride);
            add(&mut values, tile, row, from);
        }
        if !tile.residual.is_null() {
            let from = (
                D::Form::with(tile.added),
                tile.residual,
                tile.residual_stride,
            );
            add(&mut values, tile, row, from);
        }
        if end.activation.is_some() {
            for value in &mut values {
                *value = activated(*value, end.activation);
            }
        }
        if !end.out.is_null() {
            write(
                values,
                tile,
                row,
                (FloatForm, end.out.cast(), end.out_stride),
            );
        }
        if !tile.out.is_null() {
            let to = (D::Form::with(tile.written), tile.out, tile.out_stride);
            write(values, tile, row, to);
        }
    }
}

/// The end of a tile of bytes that reads and writes nothing but bytes: sums become steps of the numbers
/// that they are rounded to, without floats between.
#[inline(always)]
unsafe fn finish_bytes<D: ReducedSums, const M: usize, const N: usize>(
    tile: &ReducedTile,
    sums: [[D; N]; M],
) {
    let steps = tile.rounding.unwrap_or(tile.written).steps();
    // SAFETY: as for `finish`.
    unsafe {
        let mut columns = [D::in_steps(D::column(tile, 0), steps); N];
        for (n, column) in columns.iter_mut().enumerate().skip(1) {
            *column = D::in_steps(D::column(tile, n * D::Float::LANES), steps);
        }
        unrolled!(ROW < M; 0 1 2 3 4 5 6 7 8 9 10 11 => {
            let mut values = [D::Float::splat(0.0); N];
            for (n, value) in values.iter_mut().enumerate() {
                *value = sums[ROW][n].end(columns[n]);
            }
            finish_row_of_bytes(tile, ROW, values);
        });
    }
}

/// # Safety
/// As for [`finish`], of row `row`.
#[inline(always)]
unsafe fn finish_row_of_bytes<V: Vector, const N: usize>(
    tile: &ReducedTile,
    row: usize,
    mut values: [V; N],
) {
    let written = tile.written;
    // SAFETY: handed on.
    unsafe {
        if let Some(rounding) = tile.rounding {
            let steps = V::splat(rounding.scale() * written.steps());
            for value in &mut values {
                *value = rounding.nearest(*value).mul(steps);
            }
        }
        if !tile.shift.is_null() {
            let steps = V::splat(written.steps());
            for (n, value) in values.iter_mut().enumerate() {
                *value = value.mul_add(V::load(tile.shift.add(n * V::LANES)), steps);
            }
        }
        if !tile.residual.is_null() {
            let added = tile.added.as_steps_of(written);
            let from = (added, tile.residual, tile.residual_stride);
            add(&mut values, tile, row, from);
        }
        if tile.end.activation.is_some() {
            for value in &mut values {
                *value = value.relu();
            }
        }
        let to = (StepForm::of(written), tile.out, tile.out_stride);
        write(values, tile, row, to);
    }
}

/// Adds a row of numbers of a form; rows lie at an address with so many from one to the next.
#[inline(always)]
unsafe fn add<V: Vector, F: ReducedForm, const N: usize>(
    values: &mut [V; N],
    tile: &ReducedTile,
    row: usize,
    (form, from, stride): (F, *const u8, usize),
) {
    let last = tile.end.last;
    for (n, value) in values.iter_mut().enumerate() {
        let from = from.wrapping_add((row * stride + n * V::LANES) * F::BYTES);
        // SAFETY: the rows have the columns that are written.
        *value = unsafe {
            value.add(match n + 1 < N || last == V::LANES {
                true => form.load(from),
                false => form.load_part(from, last),
            })
        };
    }
}

/// Writes a row of numbers of a form; rows go to an address with so many from one to the next.
#[inline(always)]
unsafe fn write<V: Vector, F: ReducedForm, const N: usize>(
    values: [V; N],
    tile: &ReducedTile,
    row: usize,
    (form, to, stride): (F, *mut u8, usize),
) {
    let last = tile.end.last;
    for (n, value) in values.into_iter().enumerate() {
        let to = to.wrapping_add((row * stride + n * V::LANES) * F::BYTES);
        // SAFETY: the rows have these columns.
        unsafe {
            match n + 1 < N || last == V::LANES {
                true => form.store(value, to),
                false => form.store_part(value, to, last),
            }
        }
    }
}
