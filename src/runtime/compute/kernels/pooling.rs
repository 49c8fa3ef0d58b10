//! Pools: maxima and means over windows.

use std::ops::Range;

use crate::network::Pool;

use super::memory::{InputPixels, OutputPixels};
use crate::compute::buffers::TensorView;

#[inline(always)]
pub(super) fn max(pool: Pool, input: InputPixels<'_>, to: TensorView, out: &mut OutputPixels<'_>) {
    each_window(input.view, to, out, reach(pool), |row, window| {
        row.fill(f32::NEG_INFINITY);
        for tap in window.taps() {
            for (best, &v) in row.iter_mut().zip(input.pixel(tap)) {
                // A NaN wins over every number, so that it reaches the answer.
                *best = if v > *best || v.is_nan() { v } else { *best };
            }
        }
    });
}

#[inline(always)]
pub(super) fn average(
    pool: Pool,
    input: InputPixels<'_>,
    to: TensorView,
    out: &mut OutputPixels<'_>,
) {
    each_window(input.view, to, out, reach(pool), |row, window| {
        let count = if pool.count_include_pad {
            pool.kernel * pool.kernel
        } else {
            window.len()
        };
        mean(row, input, window, count);
    });
}

/// Windows `⌊i · from / to⌋ .. ⌈(i + 1) · from / to⌉` along each side.
#[inline(always)]
pub(super) fn adaptive(input: InputPixels<'_>, to: TensorView, out: &mut OutputPixels<'_>) {
    let span = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from).div_ceil(to);
    each_window(input.view, to, out, span, |row, window| {
        let count = window.len();
        mean(row, input, window, count);
    });
}

#[inline(always)]
pub(super) fn global(input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let from = input.view;
    for sample in out.pixels.clone() {
        let window = PixelWindow {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: 0..from.height,
            columns: 0..from.width,
        };
        mean(out.row(sample), input, window, from.pixels());
    }
}

/// Writes the sum over a window, divided by `count`.
#[inline(always)]
fn mean(row: &mut [f32], input: InputPixels<'_>, window: PixelWindow, count: usize) {
    row.fill(0.0);
    for tap in window.taps() {
        for (sum, v) in row.iter_mut().zip(input.pixel(tap)) {
            *sum += v;
        }
    }
    let share = 1.0 / count as f32;
    for sum in row {
        *sum *= share;
    }
}

/// The part of an image that one output pixel reads.
struct PixelWindow {
    /// Number of the image's first pixel, counted over all samples.
    first: usize,
    /// Pixels of a line of the image.
    pitch: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl PixelWindow {
    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    #[inline(always)]
    fn taps(self) -> impl Iterator<Item = usize> {
        self.rows.flat_map(move |y| {
            let line = self.first + y * self.pitch;
            self.columns.clone().map(move |x| line + x)
        })
    }
}

/// Returns the range of a pool's window at one output position along a side, inside the image.
#[inline(always)]
fn reach(pool: Pool) -> impl Fn(usize, usize, usize) -> Range<usize> {
    move |at, side, _| {
        let start = (at * pool.stride).saturating_sub(pool.padding);
        let end = (at * pool.stride + pool.kernel).saturating_sub(pool.padding);
        start..end.min(side)
    }
}

/// Calls `fill` with each output pixel and its window. `span` returns the range of a window
/// along a side from the output's position, the input's side and the output's side.
#[inline(always)]
fn each_window(
    from: TensorView,
    to: TensorView,
    out: &mut OutputPixels<'_>,
    span: impl Fn(usize, usize, usize) -> Range<usize>,
    fill: impl Fn(&mut [f32], PixelWindow),
) {
    for pixel in out.pixels.clone() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let window = PixelWindow {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: span(y, from.height, to.height),
            columns: span(x, from.width, to.width),
        };
        fill(out.row(pixel), window);
    }
}
