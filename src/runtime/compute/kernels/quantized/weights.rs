//! Weights as bytes, laid out for products: four of a column at a time, in the place of a float.

use super::super::panels::{Filters, Panels, READ};
use super::values::rounded;
use crate::compute::reduced::ByteNumbers;
use crate::network::weight_scale;

/// Returns the floats that the weights take: panels, then a scale and a sum for each column.
pub(in super::super) fn floats(panels: Panels) -> usize {
    panels.floats() + 2 * panels.padded_columns()
}

/// Lays weights out; `packed` has [`floats`] zeros. A line of the panels is four inputs at a
/// position of the kernel, whose inputs are filled up to whole lines.
pub(in super::super) fn pack(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let (lines, columns) = packed.split_at_mut(panels.floats());
    let (scales, sums) = columns.split_at_mut(panels.padded_columns());
    let bytes: &mut [i8] = bytemuck::cast_slice_mut(lines);
    let sums: &mut [i32] = bytemuck::cast_slice_mut(sums);
    let each = filters.inputs() * filters.conv.kernel.area();
    let mut column = vec![0; each];
    let mut read = 0;
    for panel in (0..panels.count()).map(|i| panels.panel(i)) {
        let width = panel.vectors * panels.shape.lanes;
        let columns = width - panels.shape.lanes + panel.last;
        let outputs = panel.column..panel.column + columns;
        let raw = filters.raw.of(outputs.clone(), each);
        for (at, out) in outputs.enumerate() {
            let (raw, factor) = (&raw[at * each..][..each], filters.factor(out));
            scales[out] = weight_scale(raw, factor);
            quantize(raw, factor, scales[out], &mut column);
            let to = &mut bytes[4 * (panel.at + at)..];
            sums[out] = lay_out(&column, filters.conv.kernel.area(), to, 4 * width);
        }
        read += width * panels.depth * 4;
        if read >= READ {
            (filters.read)();
            read = 0;
        }
    }
}

/// Returns a scale for each column, and the sums of weights as bits, of packed weights.
pub(in super::super) fn columns(panels: Panels, packed: &[f32]) -> (&[f32], &[i32]) {
    let (scales, sums) = packed[panels.floats()..].split_at(panels.padded_columns());
    (scales, bytemuck::cast_slice(sums))
}

/// Makes the scales those of products with values by `numbers`, and the sums what a sum of products
/// begins with, so that zero points are taken away.
pub(in super::super) fn combine(numbers: ByteNumbers, panels: Panels, packed: &mut [f32]) {
    let (scales, sums) = packed[panels.floats()..].split_at_mut(panels.padded_columns());
    for scale in scales {
        *scale *= numbers.scale;
    }
    let zero_point = numbers.zero_point as i32;
    for sum in bytemuck::cast_slice_mut::<f32, i32>(sums) {
        *sum = (-zero_point).wrapping_mul(*sum);
    }
}

/// Writes the weights of an output channel as bytes: the nearest, half to even; zeros where there is
/// no scale.
fn quantize(raw: &[f32], factor: f32, scale: f32, bytes: &mut [i8]) {
    if scale == 0.0 || scale.is_nan() {
        return bytes.fill(0);
    }
    for (to, weight) in bytes.iter_mut().zip(raw) {
        // At most 127, since the largest is 127 times the scale but for rounding.
        *to = rounded(factor * weight / scale) as i8;
    }
}

/// Lays the bytes of one column out, `line` bytes from one line to the next, and returns their sum.
fn lay_out(column: &[i8], area: usize, to: &mut [i8], line: usize) -> i32 {
    let lines = (column.len() / area.max(1)).div_ceil(4);
    for (input, weights) in column.chunks_exact(area.max(1)).enumerate() {
        for (at, weight) in weights.iter().enumerate() {
            to[(at * lines + input / 4) * line + input % 4] = *weight;
        }
    }
    column.iter().map(|&weight| i32::from(weight)).sum()
}
