//! Values as bytes: a scale and a zero point by their range, so that 0 is exact.

use super::super::memory::InputPixels;
use super::super::vector::{Vector, Vectorised};
use crate::compute::buffers::TensorView;
use crate::compute::calibration::{MOST_BYTE, byte_step};
use crate::network::Conv2d;

/// The scale of bytes, and the byte of 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteScale {
    scale: f32,
    inverse: f32,
    zero_point: f32,
}

impl ByteScale {
    /// Returns the scale for values from `low` (at most 0) to `high` (at least 0), or NaN if the
    /// range is not finite.
    fn from_range([low, high]: [f32; 2]) -> Self {
        let scale = byte_step([low, high]);
        let inverse = 1.0 / scale;
        if !scale.is_finite() || !inverse.is_finite() {
            return ByteScale {
                // The scale is 0 for zeros, and for values so small that their inverse is infinite:
                // they become 0.
                scale: if scale.is_finite() { 0.0 } else { f32::NAN },
                inverse: 0.0,
                zero_point: 0.0,
            };
        }
        ByteScale {
            scale,
            inverse,
            zero_point: (rounded(-low * inverse) as f32).min(MOST_BYTE),
        }
    }

    /// Returns the numbers that a product needs.
    pub(super) fn pair(self) -> [f32; 2] {
        [self.scale, self.zero_point]
    }
}

/// A number that is added to one below 2²² to round it, half to even: the bits of the sum count from
/// its own.
const ROUNDS: f32 = 12_582_912.0;

/// Returns the nearest whole number, half to even, of one below 2²². Unlike conversions, this is the
/// same few instructions everywhere; of NaN it is any number.
#[inline(always)]
pub(super) fn rounded(value: f32) -> i32 {
    let bits = (value + ROUNDS).to_bits().cast_signed();
    bits.wrapping_sub(ROUNDS.to_bits().cast_signed())
}

/// Writes values as bytes.
#[inline(always)]
fn quantize(values: &[f32], affine: ByteScale, bytes: &mut [u8]) {
    let zero_point = affine.zero_point as i32;
    for (to, value) in bytes.iter_mut().zip(values) {
        let byte = rounded(value * affine.inverse).wrapping_add(zero_point);
        *to = byte.min(MOST_BYTE as i32) as u8;
    }
}

/// The least and the greatest value of several runs, and 0.
struct RunningRange<V> {
    low: V,
    high: V,
    /// Zeros, or NaN if a value is not finite.
    strays: V,
}

impl<V: Vector> RunningRange<V> {
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: guaranteed by the caller.
        let zero = unsafe { V::splat(0.0) };
        RunningRange {
            low: zero,
            high: zero,
            strays: zero,
        }
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn add(&mut self, values: &[f32]) {
        let whole = values.len() / V::LANES * V::LANES;
        // SAFETY: loads lie inside the slice.
        unsafe {
            let start = values.as_ptr();
            let mut at = 0;
            while at < whole {
                self.take(V::load(start.add(at)));
                at += V::LANES;
            }
            if at < values.len() {
                self.take(V::load_part(start.add(at), values.len() - at));
            }
        }
    }

    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn take(&mut self, values: V) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.low = values.lower(self.low);
            self.high = values.higher(self.high);
            self.strays = self.strays.mul_add(values, V::splat(0.0));
        }
    }

    /// Returns the range, which is NaN if a value is not finite.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn ends(self) -> [f32; 2] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.strays.is_finite() {
                true => [self.low.lowest(), self.high.highest()],
                false => [f32::NAN; 2],
            }
        }
    }
}

/// Turns each pixel that is read into a row of bytes with its own scale.
pub(super) struct QuantizeRows<'a> {
    pub stride: usize,
    pub from: InputPixels<'a>,
    /// The rows, as pixels of an image of bytes.
    pub copy: TensorView,
    /// The number of the first row, counted over all samples.
    pub first: usize,
    pub bytes: &'a mut [u8],
    pub affine: &'a mut [[f32; 2]],
}

impl QuantizeRows<'_> {
    /// Returns the pixel of row `row`.
    fn pixel(&self, row: usize) -> usize {
        if self.stride == 1 {
            return row;
        }
        let (line, x) = (row / self.copy.width, row % self.copy.width);
        let (sample, y) = (line / self.copy.height, line % self.copy.height);
        let view = self.from.view;
        (sample * view.height + y * self.stride) * view.width + x * self.stride
    }
}

impl Vectorised for QuantizeRows<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        let channels = self.from.view.channels;
        let pitch = self.copy.pitch;
        let (bytes, affine) = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.affine),
        );
        for (at, (row, to)) in bytes.chunks_exact_mut(pitch).zip(affine).enumerate() {
            let values = self.from.pixel(self.pixel(self.first + at));
            // SAFETY: the family's instructions are enabled here.
            let range = unsafe {
                let mut range = RunningRange::<V>::new();
                range.add(values);
                range.ends()
            };
            let scale = ByteScale::from_range(range);
            *to = scale.pair();
            let (inside, beyond) = row.split_at_mut(channels);
            quantize(values, scale, inside);
            beyond.fill(0);
        }
    }
}

/// Finds the range of each line of images.
pub(super) struct LineRanges<'a> {
    pub from: InputPixels<'a>,
    /// The number of the first line, counted over all samples.
    pub first: usize,
    pub ranges: &'a mut [[f32; 2]],
}

impl Vectorised for LineRanges<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let each = run_values(self.from.view);
        for (line, to) in (self.first..).zip(self.ranges) {
            // SAFETY: the family's instructions are enabled here.
            *to = unsafe {
                let mut range = RunningRange::<V>::new();
                for values in runs(self.from, line, each) {
                    range.add(values);
                }
                range.ends()
            };
        }
    }
}

/// Returns the contiguous values of a line: all of them if its pixels are contiguous.
fn run_values(view: TensorView) -> usize {
    match view.pitch == view.channels {
        true => view.width * view.channels,
        false => view.channels,
    }
}

/// Iterates over the values of a line, in runs of `each`.
#[inline(always)]
fn runs(from: InputPixels<'_>, line: usize, each: usize) -> impl Iterator<Item = &[f32]> {
    let view = from.view;
    let first = line * view.width * view.pitch + view.first;
    let runs = view.width * view.channels / each.max(1);
    (0..runs).map(move |run| &from.data[first + run * view.pitch..][..each])
}

/// Returns the range of lines, including 0; NaN if the range of one line is.
pub(super) fn joined(lines: &[[f32; 2]]) -> [f32; 2] {
    let join = |a: [f32; 2], b: &[f32; 2]| match b[0].is_nan() {
        true => *b,
        // NaN stays NaN.
        false => [
            if b[0] < a[0] { b[0] } else { a[0] },
            if b[1] > a[1] { b[1] } else { a[1] },
        ],
    };
    lines.iter().fold([0.0; 2], join)
}

/// Copies lines of images as bytes, with their padding.
pub(super) struct QuantizeLines<'a> {
    pub conv: Conv2d,
    pub from: InputPixels<'a>,
    pub copy: TensorView,
    /// The number of the first line of the copy, counted over all samples.
    pub first: usize,
    pub bytes: &'a mut [u8],
    /// The ranges of all lines of the images.
    pub ranges: &'a [[f32; 2]],
    /// Called with a sample and its scale by the task that has the sample's first line.
    pub found: &'a dyn Fn(usize, [f32; 2]),
}

impl Vectorised for QuantizeLines<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (view, copy) = (self.from.view, self.copy);
        let mut scaled = (usize::MAX, ByteScale::from_range([0.0; 2]));
        for (line, to) in (self.first..).zip(self.bytes.chunks_exact_mut(copy.width * copy.pitch)) {
            let (sample, y) = (line / copy.height, line % copy.height);
            if scaled.0 != sample {
                let lines = &self.ranges[sample * view.height..][..view.height];
                scaled = (sample, ByteScale::from_range(joined(lines)));
            }
            let scale = scaled.1;
            if y == 0 {
                (self.found)(sample, scale.pair());
            }
            let zero = scale.zero_point as u8;
            let inside = y.checked_sub(self.conv.padding.height);
            let Some(y) = inside.filter(|&y| y < view.height) else {
                to.fill(zero);
                continue;
            };
            let (left, rest) = to.split_at_mut(self.conv.padding.width * copy.pitch);
            let (middle, right) = rest.split_at_mut(view.width * copy.pitch);
            left.fill(zero);
            right.fill(zero);
            let (each, to_each) = match view.channels == copy.pitch {
                true => (run_values(view), run_values(view)),
                false => (view.channels, copy.pitch),
            };
            let values = runs(self.from, sample * view.height + y, each);
            for (values, to) in values.zip(middle.chunks_exact_mut(to_each.max(1))) {
                let (inside, beyond) = to.split_at_mut(values.len());
                quantize(values, scale, inside);
                beyond.fill(0);
            }
        }
    }
}
