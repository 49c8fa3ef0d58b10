//! The end of a tile: sums are rounded, added to, and written.

use std::hint::black_box;

use super::super::activations::activated_shortly;
use super::super::vector::Vector;
use super::form::{FloatForm, ReducedForm, StepForm};
use super::operands::ReducedTile;
use super::sums::ReducedSums;

/// Rounds, adds, applies the activation and writes, row by row. It uses only loops, because a
/// closure would be compiled without the instructions of the kernel.
#[inline(always)]
pub(super) unsafe fn finish<D: ReducedSums, const M: usize, const N: usize>(
    tile: &ReducedTile,
    sums: [[D; N]; M],
) {
    // SAFETY: non-null residuals and outs have `M` rows of the columns written.
    unsafe {
        let mut columns = [D::column(tile, 0); N];
        for (n, column) in columns.iter_mut().enumerate().skip(1) {
            *column = D::column(tile, n * D::Float::LANES);
        }
        // In memory, once: an unrolled end is ten times as much code and gains nothing.
        let sums = black_box(sums);
        for (row, sums) in sums.iter().enumerate() {
            let mut values = [D::Float::splat(0.0); N];
            for (n, value) in values.iter_mut().enumerate() {
                *value = sums[n].end(columns[n]);
            }
            finish_row::<D, N>(tile, row, values);
        }
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
    // SAFETY: guaranteed by the caller.
    unsafe {
        if let Some(rounding) = tile.rounding {
            for value in &mut values {
                *value = rounding.round(*value);
            }
        }
        if !tile.shift.is_null() {
            for (n, value) in values.iter_mut().enumerate() {
                *value = value.add(D::Float::load(tile.shift.add(n * D::Float::LANES)));
            }
        }
        if !end.residual.is_null() {
            let from = end.residual.wrapping_add(row * end.residual_stride);
            add(&mut values, FloatForm, from.cast(), end.last);
        }
        if !tile.residual.is_null() {
            let form = D::Form::with(tile.added);
            let before = row * tile.residual_stride * D::Form::BYTES;
            let from = tile.residual.wrapping_add(before);
            add(&mut values, form, from, end.last);
        }
        if end.activation.is_some() {
            for value in &mut values {
                *value = activated_shortly(*value, end.activation);
            }
        }
        if !end.out.is_null() {
            let to = end.out.wrapping_add(row * end.out_stride);
            write(values, FloatForm, to.cast(), end.last);
        }
        if !tile.out.is_null() {
            let before = row * tile.out_stride * D::Form::BYTES;
            let to = tile.out.wrapping_add(before);
            write(values, D::Form::with(tile.written), to, end.last);
        }
    }
}

/// The end of a tile that reads and writes only bytes: sums become steps of the rounded numbers
/// directly, without floats.
#[inline(always)]
pub(super) unsafe fn finish_bytes<D: ReducedSums, const M: usize, const N: usize>(
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
    // SAFETY: guaranteed by the caller.
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
            let from = tile.residual.wrapping_add(row * tile.residual_stride);
            add(&mut values, added, from, tile.end.last);
        }
        if tile.end.activation.is_some() {
            for value in &mut values {
                *value = value.relu();
            }
        }
        let to = tile.out.wrapping_add(row * tile.out_stride);
        write(values, StepForm::for_steps(written), to, tile.end.last);
    }
}

/// Adds the row of numbers at an address. The last vector has `last` columns.
#[inline(always)]
unsafe fn add<V: Vector, F: ReducedForm, const N: usize>(
    values: &mut [V; N],
    form: F,
    from: *const u8,
    last: usize,
) {
    for (n, value) in values.iter_mut().enumerate() {
        let from = from.wrapping_add(n * V::LANES * F::BYTES);
        // SAFETY: the rows have the columns that are written.
        *value = unsafe {
            value.add(match n + 1 < N || last == V::LANES {
                true => form.load(from),
                false => form.load_part(from, last),
            })
        };
    }
}

/// Writes a row of numbers to an address. The last vector has `last` columns.
#[inline(always)]
unsafe fn write<V: Vector, F: ReducedForm, const N: usize>(
    values: [V; N],
    form: F,
    to: *mut u8,
    last: usize,
) {
    for (n, value) in values.into_iter().enumerate() {
        let to = to.wrapping_add(n * V::LANES * F::BYTES);
        // SAFETY: the rows have these columns.
        unsafe {
            match n + 1 < N || last == V::LANES {
                true => form.store(value, to),
                false => form.store_part(value, to, last),
            }
        }
    }
}
