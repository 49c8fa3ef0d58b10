//! Pooling windows.

use std::ops::Range;

use crate::network::Pool;

use super::super::view::View;
use super::Source;

pub(super) fn max(pool: Pool, batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    each_window(batch, input.view, to, out, reach(pool), |row, window| {
        row.fill(f32::NEG_INFINITY);
        for tap in window.taps() {
            for (best, &v) in row.iter_mut().zip(input.pixel(tap)) {
                // A NaN wins over every number, so that it reaches the answer.
                if v > *best || v.is_nan() {
                    *best = v;
                }
            }
        }
    });
}

pub(super) fn average(pool: Pool, batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    each_window(batch, input.view, to, out, reach(pool), |row, window| {
        let count = if pool.count_include_pad {
            pool.kernel * pool.kernel
        } else {
            window.len()
        };
        mean(row, input, window, count);
    });
}

/// Windows `⌊i · from / to⌋ .. ⌈(i + 1) · from / to⌉` along each side.
pub(super) fn adaptive(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let span = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from).div_ceil(to);
    each_window(batch, input.view, to, out, span, |row, window| {
        let count = window.len();
        mean(row, input, window, count);
    });
}

pub(super) fn global(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let from = input.view;
    for sample in 0..batch {
        let row = &mut out[sample * to.pitch + to.first..][..to.channels];
        let window = Window {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: 0..from.height,
            columns: 0..from.width,
        };
        mean(row, input, window, from.pixels());
    }
}

/// The sum over a window, divided by `count`.
fn mean(row: &mut [f32], input: Source<'_>, window: Window, count: usize) {
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
struct Window {
    /// Number of the image's first pixel, counted over all samples.
    first: usize,
    /// Pixels of a line of the image.
    pitch: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Window {
    fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    fn taps(self) -> impl Iterator<Item = usize> {
        self.rows.flat_map(move |y| {
            let line = self.first + y * self.pitch;
            self.columns.clone().map(move |x| line + x)
        })
    }
}

/// Where a pool's window at one output position lies along a side, inside the image.
fn reach(pool: Pool) -> impl Fn(usize, usize, usize) -> Range<usize> {
    move |at, side, _| {
        let start = (at * pool.stride).saturating_sub(pool.padding);
        let end = (at * pool.stride + pool.kernel).saturating_sub(pool.padding);
        start..end.min(side)
    }
}

/// Calls `fill` with each output pixel and its window; `span` gives where a window lies
/// along a side from the output's position, the input's side and the output's side.
fn each_window(
    batch: usize,
    from: View,
    to: View,
    out: &mut [f32],
    span: impl Fn(usize, usize, usize) -> Range<usize>,
    fill: impl Fn(&mut [f32], Window),
) {
    for pixel in 0..batch * to.pixels() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let window = Window {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: span(y, from.height, to.height),
            columns: span(x, from.width, to.width),
        };
        let row = &mut out[pixel * to.pitch + to.first..][..to.channels];
        fill(row, window);
    }
}
