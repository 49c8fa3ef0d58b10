//! Kernels that change an image's size: maxima and means over windows, and bilinear resize
//! with half-pixel centres, as PyTorch's `align_corners=False` without anti-aliasing.

use std::ops::Range;

use super::buffer::LINE;
use super::elementwise::Lanes;
use super::memory::{InputPixels, OutputPixels};
use super::vector::Vector;
use crate::compute::buffers::TensorView;
use crate::network::Pool;

#[inline(always)]
pub(super) fn max_pool(
    pool: Pool,
    input: InputPixels<'_>,
    to: TensorView,
    out: &mut OutputPixels<'_>,
) {
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

/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn average_pool<V: Vector>(
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
        // SAFETY: guaranteed by the caller.
        unsafe { mean::<V>(row, input, &window, count) };
    });
}

/// Windows `⌊i · from / to⌋ .. ⌈(i + 1) · from / to⌉` along each side.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn adaptive_pool<V: Vector>(
    input: InputPixels<'_>,
    to: TensorView,
    out: &mut OutputPixels<'_>,
) {
    let span = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from).div_ceil(to);
    each_window(input.view, to, out, span, |row, window| {
        let count = window.len();
        // SAFETY: guaranteed by the caller.
        unsafe { mean::<V>(row, input, &window, count) };
    });
}

/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn global_pool<V: Vector>(input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let from = input.view;
    for sample in out.pixels.clone() {
        if from.channels < V::LANES && from.pitch == from.channels {
            let values = from.pixels() * from.channels;
            let image = &input.data[sample * values..][..values];
            // SAFETY: guaranteed by the caller.
            unsafe { narrow_mean::<V>(out.row(sample), image) };
            continue;
        }
        let window = PixelWindow {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: 0..from.height,
            columns: 0..from.width,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { mean::<V>(out.row(sample), input, &window, from.pixels()) };
    }
}

/// Writes the sum over a window, divided by `count`.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
unsafe fn mean<V: Vector>(row: &mut [f32], input: InputPixels<'_>, of: &PixelWindow, count: usize) {
    for lanes in Lanes::by_vector::<V>(row.len()) {
        // SAFETY: guaranteed by the caller; rows were checked.
        unsafe {
            let mut sum = V::splat(0.0);
            for tap in of.taps() {
                let from = input.pixel(tap);
                assert!(row.len() <= from.len());
                sum = sum.add(lanes.load(from));
            }
            lanes.store(sum.mul(V::splat(1.0 / count as f32)), row);
        }
    }
}

/// Writes the mean of an image's pixels that have fewer channels than a vector has lanes. Each run
/// of as many vectors as channels begins with the same channel, so runs are summed lane by lane.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
unsafe fn narrow_mean<V: Vector>(row: &mut [f32], image: &[f32]) {
    let channels = row.len();
    let mut sums = [0.0; LINE * LINE];
    let sums = &mut sums[..channels * V::LANES];
    let runs = image.chunks_exact(sums.len());
    let rest = runs.remainder();
    for run in runs {
        for lanes in Lanes::by_vector::<V>(run.len()) {
            // SAFETY: guaranteed by the caller; a run has the length of the sums.
            unsafe { lanes.store(lanes.load::<V>(sums).add(lanes.load(run)), sums) };
        }
    }
    row.fill(0.0);
    for pixel in sums
        .chunks_exact(channels)
        .chain(rest.chunks_exact(channels))
    {
        for (sum, value) in row.iter_mut().zip(pixel) {
            *sum += value;
        }
    }
    let share = channels as f32 / image.len() as f32;
    for sum in row {
        *sum *= share;
    }
}

/// The part of an image read by one output pixel.
pub(super) struct PixelWindow {
    /// Number of the image's first pixel, counted over all samples.
    first: usize,
    /// Pixels of a line of the image.
    pitch: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl PixelWindow {
    /// Returns the window of output pixel `pixel` from one view to another, whose range along a side
    /// `span` returns from the output's position, the input's side and the output's side.
    #[inline(always)]
    fn for_pixel(
        pixel: usize,
        from: TensorView,
        to: TensorView,
        span: impl Fn(usize, usize, usize) -> Range<usize>,
    ) -> Self {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        PixelWindow {
            first: sample * from.pixels(),
            pitch: from.width,
            rows: span(y, from.height, to.height),
            columns: span(x, from.width, to.width),
        }
    }

    /// Returns the window of a pool.
    #[inline(always)]
    pub(super) fn of_pool(pool: Pool, pixel: usize, from: TensorView, to: TensorView) -> Self {
        PixelWindow::for_pixel(pixel, from, to, reach(pool))
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Returns the numbers of its pixels.
    #[inline(always)]
    pub(super) fn taps(&self) -> impl Iterator<Item = usize> {
        self.rows.clone().flat_map(move |y| {
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
        let window = PixelWindow::for_pixel(pixel, from, to, &span);
        fill(out.row(pixel), window);
    }
}

/// Two neighbours along one side, and the weight of the second.
#[derive(Clone, Copy, Debug)]
struct Tap {
    low: usize,
    high: usize,
    share: f32,
}

impl Tap {
    fn between(self, low: f32, high: f32) -> f32 {
        low * (1.0 - self.share) + high * self.share
    }
}

/// Returns the neighbours that each of `to` positions reads of `from`.
fn taps(from: usize, to: usize) -> Vec<Tap> {
    let scale = from as f32 / to as f32;
    (0..to)
        .map(|i| {
            let at = ((i as f32 + 0.5) * scale - 0.5).max(0.0);
            let low = (at as usize).min(from - 1);
            Tap {
                low,
                high: (low + 1).min(from - 1),
                share: at - low as f32,
            }
        })
        .collect()
}

/// Resizes planes (channels of images, rows after rows) of `from` height and width to
/// `to` height and width; as many planes as both slices hold.
pub fn resize_planes(from: (usize, usize), to: (usize, usize), input: &[f32], output: &mut [f32]) {
    let (rows, columns) = (taps(from.0, to.0), taps(from.1, to.1));
    let planes = input.chunks_exact(from.0 * from.1);
    for (plane, out) in planes.zip(output.chunks_exact_mut(to.0 * to.1)) {
        for (v, line) in rows.iter().zip(out.chunks_exact_mut(to.1)) {
            let (top, bottom) = (
                &plane[v.low * from.1..][..from.1],
                &plane[v.high * from.1..][..from.1],
            );
            for (h, value) in columns.iter().zip(line) {
                let above = h.between(top[h.low], top[h.high]);
                let below = h.between(bottom[h.low], bottom[h.high]);
                *value = v.between(above, below);
            }
        }
    }
}

/// Resizes channels-last pixels.
#[inline(always)]
pub(super) fn bilinear(input: InputPixels<'_>, to: TensorView, out: &mut OutputPixels<'_>) {
    let from = input.view;
    if (from.height, from.width) == (to.height, to.width) {
        // A neighbour's share of 0 would make NaN of an infinity.
        for pixel in out.pixels.clone() {
            out.row(pixel).copy_from_slice(input.pixel(pixel));
        }
        return;
    }
    let rows = taps(from.height, to.height);
    let columns = taps(from.width, to.width);
    for pixel in out.pixels.clone() {
        let (sample, y, x) = (
            pixel / to.pixels(),
            pixel / to.width % to.height,
            pixel % to.width,
        );
        let at = |y: usize, x: usize| input.pixel((sample * from.height + y) * from.width + x);
        let (v, h) = (rows[y], columns[x]);
        let corners = [
            at(v.low, h.low),
            at(v.low, h.high),
            at(v.high, h.low),
            at(v.high, h.high),
        ];
        for (c, value) in out.row(pixel).iter_mut().enumerate() {
            let top = h.between(corners[0][c], corners[1][c]);
            let bottom = h.between(corners[2][c], corners[3][c]);
            *value = v.between(top, bottom);
        }
    }
}
