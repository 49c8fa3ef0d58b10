//! Weights as bytes, laid out for products: four of a column at a time, in the space of a float.

use super::super::panels::{Filters, Panels};
use super::values::rounded;
use crate::compute::reduced::ByteNumbers;
use crate::network::{ByteWeights, weight_scale};

/// Returns the floats that the weights take: panels, then a scale and a sum for each column.
pub(in super::super) fn floats(panels: Panels) -> usize {
    panels.floats() + 2 * panels.padded_columns()
}

/// Inputs that are multiplied at a time.
const GROUP: usize = 4;

/// Lays weights out; `packed` has [`floats`] zeros. A line of the panels is four inputs at a
/// position of the kernel, whose inputs are filled up to whole lines.
pub(in super::super) fn pack(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let (lines, columns) = packed[..floats(panels)].split_at_mut(panels.floats());
    let (scales, sums) = columns.split_at_mut(panels.padded_columns());
    let bytes: &mut [i8] = bytemuck::cast_slice_mut(lines);
    let sums: &mut [i32] = bytemuck::cast_slice_mut(sums);
    filters.columns(panels, GROUP, |column| {
        let scale = weight_scale(column.raw, column.factor);
        scales[column.out] = scale;
        for (place, weight) in column.places(GROUP).zip(column.raw) {
            let byte = byte(column.factor * weight, scale);
            bytes[place] = byte;
            sums[column.out] += i32::from(byte);
        }
    });
}

/// Returns the floats that weights take for values by the range of a sample: as [`floats`], then a shift
/// for each column.
pub(super) fn ranged_floats(panels: Panels) -> usize {
    floats(panels) + panels.padded_columns()
}

/// Lays weights out like [`pack`]; weights that are bytes times a scale are stored as these bytes.
/// `packed` has [`ranged_floats`] zeros.
pub(super) fn pack_ranged(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let (lines, columns) = packed.split_at_mut(panels.floats());
    let (scales, whole) = columns.split_at_mut(panels.padded_columns());
    let whole: &mut [i32] = bytemuck::cast_slice_mut(whole);
    let (sums, shifts) = whole.split_at_mut(panels.padded_columns());
    let bytes: &mut [i8] = bytemuck::cast_slice_mut(lines);
    filters.columns(panels, GROUP, |column| {
        let of = ByteWeights::from_weights(column.raw);
        scales[column.out] = of.scale * column.factor;
        shifts[column.out] = of.shift;
        for (place, weight) in column.places(GROUP).zip(column.raw) {
            let byte = of.byte(*weight);
            bytes[place] = byte;
            sums[column.out] += i32::from(byte);
        }
    });
}

/// Returns the shifts of columns, beginning with column `first`, or null if a panel has none.
pub(super) fn shifts(panels: Panels, packed: &[f32], first: usize) -> *const i32 {
    let shifts = packed.get(floats(panels) + first..).unwrap_or_default();
    let shifts: &[i32] = bytemuck::cast_slice(shifts);
    let of_panel = shifts.iter().take(panels.shape.columns());
    match of_panel.clone().all(|shift| *shift == 0) {
        true => std::ptr::null(),
        false => shifts.as_ptr(),
    }
}

/// Returns a scale for each column, and the sums of weights as bits, of packed weights.
pub(in super::super) fn columns(panels: Panels, packed: &[f32]) -> (&[f32], &[i32]) {
    let (scales, sums) = packed[panels.floats()..floats(panels)].split_at(panels.padded_columns());
    (scales, bytemuck::cast_slice(sums))
}

/// Turns the scales into those of products with values in `numbers`, and the sums into the initial
/// sums of products, which take away zero points. `shift` is already subtracted from values.
pub(in super::super) fn combine(
    numbers: ByteNumbers,
    shift: i32,
    panels: Panels,
    packed: &mut [f32],
) {
    let (scales, sums) =
        packed[panels.floats()..floats(panels)].split_at_mut(panels.padded_columns());
    for scale in scales {
        *scale *= numbers.scale;
    }
    let start = shift - numbers.zero_point as i32;
    for sum in bytemuck::cast_slice_mut::<f32, i32>(sums) {
        *sum = start.wrapping_mul(*sum);
    }
}

/// Returns a weight as a byte: the nearest, half to even; 0 without a scale.
pub(in super::super) fn byte(weight: f32, scale: f32) -> i8 {
    match scale == 0.0 || scale.is_nan() {
        true => 0,
        // At most 127, because the largest weight is 127 times the scale, up to rounding.
        false => rounded(weight / scale) as i8,
    }
}
