//! Values of windows and regions of images.

use divisi_runtime::compute::gpu::{GpuStep, TensorView};
use divisi_runtime::network::Pool;

use super::{EmulatedArena, ValueIndex};

/// Iterates over the values under a pool's window, inside the image.
pub(super) fn pooled(
    arena: &EmulatedArena,
    input: &TensorView,
    pool: Pool,
    at: ValueIndex,
) -> impl Iterator<Item = f32> {
    let side = |i: usize, length: usize| {
        let first = (i * pool.stride) as isize - pool.padding as isize;
        let end = (first + pool.kernel as isize).clamp(0, length as isize) as usize;
        first.max(0) as usize..end
    };
    let columns = side(at.x, input.width);
    side(at.y, input.height).flat_map(move |y| {
        columns
            .clone()
            .map(move |x| arena.read(input, at.row, y, x, at.channel))
    })
}

/// Returns the mean of a region.
pub(super) fn region(arena: &EmulatedArena, step: &GpuStep, at: ValueIndex) -> f32 {
    let (from, to) = (&step.input, &step.output);
    let side = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from).div_ceil(to);
    let (rows, columns) = (
        side(at.y, from.height, to.height),
        side(at.x, from.width, to.width),
    );
    let count = rows.len() * columns.len();
    let each = rows.flat_map(|y| columns.clone().map(move |x| (y, x)));
    let sum: f32 = each
        .map(|(y, x)| arena.read(from, at.row, y, x, at.channel))
        .sum();
    sum / count as f32
}

/// Returns a value of a bilinear resize, half-pixel centres.
pub(super) fn resized(arena: &EmulatedArena, step: &GpuStep, at: ValueIndex) -> f32 {
    let (from, to) = (&step.input, &step.output);
    let side = |i: usize, from: usize, to: usize| {
        let centre = (i as f32 + 0.5) * from as f32 / to as f32 - 0.5;
        let centre = centre.max(0.0);
        let low = (centre as usize).min(from - 1);
        (low, (low + 1).min(from - 1), centre - low as f32)
    };
    let (y0, y1, v) = side(at.y, from.height, to.height);
    let (x0, x1, h) = side(at.x, from.width, to.width);
    let read = |y, x| arena.read(from, at.row, y, x, at.channel);
    let line = |y| read(y, x0) * (1.0 - h) + read(y, x1) * h;
    line(y0) * (1.0 - v) + line(y1) * v
}
