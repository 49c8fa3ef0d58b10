//! Weights as bytes, laid out for products: four of a column at a time, in the place of a float.

use super::super::panels::{Filters, Panels};
use super::values::rounded;
use crate::compute::reduced::ByteNumbers;
use crate::network::weight_scale;

/// Returns the floats that the weights take: panels, then a scale and a sum for each column.
pub(in super::super) fn floats(panels: Panels) -> usize {
    panels.floats() + 2 * panels.padded_columns()
}

/// Inputs that are multiplied at a time.
const GROUP: usize = 4;

/// Lays weights out; `packed` has [`floats`] zeros. A line of the panels is four inputs at a
/// position of the kernel, whose inputs are filled up to whole lines.
pub(in super::super) fn pack(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let (lines, columns) = packed.split_at_mut(panels.floats());
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

/// Returns a scale for each column, and the sums of weights as bits, of packed weights.
pub(in super::super) fn columns(panels: Panels, packed: &[f32]) -> (&[f32], &[i32]) {
    let (scales, sums) = packed[panels.floats()..].split_at(panels.padded_columns());
    (scales, bytemuck::cast_slice(sums))
}

/// Makes the scales those of products with values by `numbers`, and the sums what a sum of products
/// begins with, so that zero points are taken away; `shift` is taken from values already.
pub(in super::super) fn combine(
    numbers: ByteNumbers,
    shift: i32,
    panels: Panels,
    packed: &mut [f32],
) {
    let (scales, sums) = packed[panels.floats()..].split_at_mut(panels.padded_columns());
    for scale in scales {
        *scale *= numbers.scale;
    }
    let start = shift - numbers.zero_point as i32;
    for sum in bytemuck::cast_slice_mut::<f32, i32>(sums) {
        *sum = start.wrapping_mul(*sum);
    }
}

/// Returns a weight as a byte: the nearest, half to even; 0 where there is no scale.
fn byte(weight: f32, scale: f32) -> i8 {
    match scale == 0.0 || scale.is_nan() {
        true => 0,
        // At most 127, since the largest is 127 times the scale but for rounding.
        false => rounded(weight / scale) as i8,
    }
}
