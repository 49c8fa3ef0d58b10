//! Pooling windows.

use crate::network::Pool;

use super::super::view::View;
use super::Source;

pub(super) fn max(pool: Pool, batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    each_window(pool, batch, input.view, to, out, |row, taps| {
        row.fill(f32::NEG_INFINITY);
        for tap in taps {
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
    let share = 1.0 / (pool.kernel * pool.kernel) as f32;
    each_window(pool, batch, input.view, to, out, |row, taps| {
        row.fill(0.0);
        for tap in taps {
            for (sum, v) in row.iter_mut().zip(input.pixel(tap)) {
                *sum += v;
            }
        }
        for sum in row {
            *sum *= share;
        }
    });
}

pub(super) fn global(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let pixels = input.view.pixels();
    let share = 1.0 / pixels as f32;
    for sample in 0..batch {
        let row = &mut out[sample * to.pitch + to.first..][..to.channels];
        row.fill(0.0);
        for pixel in 0..pixels {
            for (sum, v) in row.iter_mut().zip(input.pixel(sample * pixels + pixel)) {
                *sum += v;
            }
        }
        for sum in row {
            *sum *= share;
        }
    }
}

/// Calls `fill` with each output pixel and the input pixels inside its window.
fn each_window(
    pool: Pool,
    batch: usize,
    from: View,
    to: View,
    out: &mut [f32],
    fill: impl Fn(&mut [f32], &mut dyn Iterator<Item = usize>),
) {
    let span = |at: usize, side: usize| {
        let start = (at * pool.stride).saturating_sub(pool.padding);
        let end = (at * pool.stride + pool.kernel).saturating_sub(pool.padding);
        start..end.min(side)
    };
    for pixel in 0..batch * to.pixels() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let row = &mut out[pixel * to.pitch + to.first..][..to.channels];
        let columns = span(x, from.width);
        let mut taps = span(y, from.height).flat_map(|y| {
            let line = (sample * from.height + y) * from.width;
            columns.clone().map(move |x| line + x)
        });
        fill(row, &mut taps);
    }
}
