//! Convolutions and fully connected layers as matrix products.
//!
//! A 1×1 convolution of stride 1 multiplies its input where it lies. Others gather
//! a tile of output pixels that stays in cache, multiply, and finish the tile
//! (bias, residual, activation) before the next is gathered.

use crate::network::{Conv2d, Sides};

use super::elementwise::Epilogue;
use super::product::{Matrix, multiply};
use super::{Context, Source};

/// Floats of a gathered tile: 128 KiB, well inside a core's second-level cache.
const TILE_FLOATS: usize = 32 * 1024;

/// Floats of scratch for a convolution over `channels`; 0 where nothing is gathered.
pub(in crate::compute) fn tile_floats(conv: Conv2d, channels: usize) -> usize {
    let depthwise = conv.groups == channels && conv.groups == conv.channels;
    if depthwise || is_pointwise(conv) {
        return 0;
    }
    let depth = depth(conv, channels);
    tile_pixels(depth) * depth
}

/// Values that one output pixel of one group reads.
fn depth(conv: Conv2d, channels: usize) -> usize {
    conv.kernel.area() * channels / conv.groups
}

fn tile_pixels(depth: usize) -> usize {
    (TILE_FLOATS / depth.max(1)).clamp(8, 512)
}

fn is_pointwise(conv: Conv2d) -> bool {
    conv.kernel.area() == 1 && conv.stride == 1 && conv.padding == Sides::square(0)
}

pub(super) fn run(
    conv: Conv2d,
    ctx: Context<'_>,
    input: Source<'_>,
    end: &Epilogue<'_>,
    out: &mut [f32],
) {
    if conv.groups == input.view.channels && conv.groups == conv.channels {
        return depthwise(conv, &ctx, input, end, out);
    }
    let window = Window { conv, input };
    let to = ctx.step.output;
    let depth = depth(conv, input.view.channels);
    let pixels = ctx.batch * to.pixels();
    let tile_pixels = tile_pixels(depth);
    let columns = conv.channels / conv.groups;
    for start in (0..pixels).step_by(tile_pixels) {
        let rows = tile_pixels.min(pixels - start);
        for group in 0..conv.groups {
            let left = if is_pointwise(conv) {
                window.in_place(start, rows, group)
            } else {
                ctx.tile.resize(tile_pixels * depth, 0.0);
                window.gather(ctx.tile, to.height, to.width, start, rows, group);
                Matrix {
                    data: ctx.tile,
                    rows,
                    columns: depth,
                    stride: depth,
                }
            };
            let right = Matrix {
                data: &ctx.weights.matrix[group * depth * columns..],
                rows: depth,
                columns,
                stride: columns,
            };
            let at = start * to.pitch + to.first + group * columns;
            multiply(&mut out[at..], to.pitch, left, right);
        }
        end.finish(&ctx.weights.bias, to, start..start + rows, out);
    }
}

pub(super) fn linear(ctx: Context<'_>, input: Source<'_>, end: &Epilogue<'_>, out: &mut [f32]) {
    let (from, to) = (input.view, ctx.step.output);
    let left = Matrix {
        data: &input.data[from.first..],
        rows: ctx.batch,
        columns: from.channels,
        stride: from.pitch,
    };
    let right = Matrix {
        data: &ctx.weights.matrix,
        rows: from.channels,
        columns: to.channels,
        stride: to.channels,
    };
    multiply(&mut out[to.first..], to.pitch, left, right);
    end.finish(&ctx.weights.bias, to, 0..ctx.batch, out);
}

/// A convolution's way of reading its input.
struct Window<'a> {
    conv: Conv2d,
    input: Source<'a>,
}

impl<'a> Window<'a> {
    fn in_place(&self, start: usize, rows: usize, group: usize) -> Matrix<'a> {
        let view = self.input.view;
        let columns = view.channels / self.conv.groups;
        Matrix {
            data: &self.input.data[start * view.pitch + view.first + group * columns..],
            rows,
            columns,
            stride: view.pitch,
        }
    }

    /// Gathers what output pixels `start..start + rows` read, one row each.
    fn gather(
        &self,
        tile: &mut [f32],
        height: usize,
        width: usize,
        start: usize,
        rows: usize,
        group: usize,
    ) {
        let channels = self.input.view.channels / self.conv.groups;
        let kernel = self.conv.kernel;
        let depth = kernel.area() * channels;
        for (row, pixel) in tile.chunks_exact_mut(depth).zip(start..start + rows) {
            let (sample, y, x) = (
                pixel / (height * width),
                pixel / width % height,
                pixel % width,
            );
            let lines = row.chunks_exact_mut(kernel.width * channels);
            for (ky, line) in lines.enumerate() {
                let y = self.row(y, ky);
                self.gather_line(line, sample, y, x, channels, group);
            }
        }
    }

    /// One kernel row; what lies outside the image is zero.
    fn gather_line(
        &self,
        line: &mut [f32],
        sample: usize,
        y: Option<usize>,
        x: usize,
        channels: usize,
        group: usize,
    ) {
        let view = self.input.view;
        let Some(y) = y else { return line.fill(0.0) };
        let first = (sample * view.height + y) * view.width;
        for (kx, part) in line.chunks_exact_mut(channels).enumerate() {
            match self.column(x, kx) {
                None => part.fill(0.0),
                Some(x) => {
                    let from = &self.input.pixel(first + x)[group * channels..][..channels];
                    part.copy_from_slice(from);
                }
            }
        }
    }

    /// The input's row that line `k` of the kernel falls on at output row `at`, if any.
    fn row(&self, at: usize, k: usize) -> Option<usize> {
        self.reach(at, k, self.conv.padding.height)
            .filter(|&y| y < self.input.view.height)
    }

    /// The input's column that column `k` of the kernel falls on, if any.
    fn column(&self, at: usize, k: usize) -> Option<usize> {
        self.reach(at, k, self.conv.padding.width)
            .filter(|&x| x < self.input.view.width)
    }

    fn reach(&self, at: usize, k: usize, padding: usize) -> Option<usize> {
        (at * self.conv.stride + k * self.conv.dilation).checked_sub(padding)
    }
}

/// One filter a channel: summed directly, vectorised over channels.
fn depthwise(
    conv: Conv2d,
    ctx: &Context<'_>,
    input: Source<'_>,
    end: &Epilogue<'_>,
    out: &mut [f32],
) {
    let (to, view) = (ctx.step.output, input.view);
    let window = Window { conv, input };
    let taps = conv.kernel.area();
    for pixel in 0..ctx.batch * to.pixels() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let sums = &mut out[pixel * to.pitch + to.first..][..to.channels];
        sums.fill(0.0);
        for tap in 0..taps {
            let y = window.row(y, tap / conv.kernel.width);
            let x = window.column(x, tap % conv.kernel.width);
            let (Some(y), Some(x)) = (y, x) else { continue };
            let from = input.pixel((sample * view.height + y) * view.width + x);
            // Weights are laid out per group: one group a channel, one column each.
            for (c, (sum, v)) in sums.iter_mut().zip(from).enumerate() {
                *sum += v * ctx.weights.matrix[c * taps + tap];
            }
        }
    }
    end.finish(&ctx.weights.bias, to, 0..ctx.batch * to.pixels(), out);
}
