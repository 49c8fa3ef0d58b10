//! Steps that touch each value once, and the end that others are finished with.

use std::ops::Range;

use crate::network::Activation;

use super::super::fold::StepWeights;
use super::super::view::{Place, View};
use super::Source;

/// What a step applies to its result while that is in cache.
pub(super) struct Epilogue<'a> {
    pub residual: Option<Source<'a>>,
    pub activation: Option<Activation>,
}

impl Epilogue<'_> {
    /// Adds bias and residual to `pixels` of `out`, then applies the activation.
    pub fn finish(&self, bias: &[f32], to: View, pixels: Range<usize>, out: &mut [f32]) {
        for pixel in pixels {
            let row = &mut out[pixel * to.pitch + to.first..][..to.channels];
            for (value, b) in row.iter_mut().zip(bias) {
                *value += b;
            }
            if let Some(residual) = &self.residual {
                for (value, r) in row.iter_mut().zip(residual.pixel(pixel)) {
                    *value += r;
                }
            }
            match self.activation {
                Some(Activation::Relu) => relu(row),
                Some(Activation::Relu6) => relu6(row),
                None => {}
            }
        }
    }
}

/// Keeps NaN as NaN, which `f32::max` would not.
fn relu(row: &mut [f32]) {
    for value in row {
        *value = if *value < 0.0 { 0.0 } else { *value };
    }
}

/// `clamp` keeps NaN as NaN.
fn relu6(row: &mut [f32]) {
    for value in row {
        *value = value.clamp(0.0, 6.0);
    }
}

pub(super) fn scale_shift(
    batch: usize,
    weights: &StepWeights,
    input: Source<'_>,
    end: &Epilogue<'_>,
    to: View,
    out: &mut [f32],
) {
    for pixel in 0..batch * to.pixels() {
        let row = &mut out[pixel * to.pitch + to.first..][..to.channels];
        for ((o, v), s) in row.iter_mut().zip(input.pixel(pixel)).zip(&weights.matrix) {
            *o = v * s;
        }
        end.finish(&weights.bias, to, pixel..pixel + 1, out);
    }
}

pub(super) fn copy(batch: usize, input: Source<'_>, end: &Epilogue<'_>, to: View, out: &mut [f32]) {
    for pixel in 0..batch * to.pixels() {
        out[pixel * to.pitch + to.first..][..to.channels].copy_from_slice(input.pixel(pixel));
        end.finish(&[], to, pixel..pixel + 1, out);
    }
}

/// Copies the inputs that could not be written in place.
pub(super) fn concat(batch: usize, inputs: &[Source<'_>], to: View, out: &mut [f32]) {
    let mut first = to.first;
    for input in inputs {
        let in_place = input.view.place == to.place && input.view.place != Place::Input;
        if !in_place {
            for pixel in 0..batch * to.pixels() {
                out[pixel * to.pitch + first..][..input.view.channels]
                    .copy_from_slice(input.pixel(pixel));
            }
        }
        first += input.view.channels;
    }
}

/// Channels-first samples to channels-last.
pub(super) fn enter(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let (pixels, channels) = (to.pixels(), to.channels);
    for sample in 0..batch {
        let from = &input.data[sample * pixels * channels..][..pixels * channels];
        for pixel in 0..pixels {
            let row = &mut out[(sample * pixels + pixel) * to.pitch + to.first..][..channels];
            for (c, value) in row.iter_mut().enumerate() {
                *value = from[c * pixels + pixel];
            }
        }
    }
}

/// Channels-last images to vectors with channels slowest.
pub(super) fn flatten(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    let (pixels, channels) = (input.view.pixels(), input.view.channels);
    for sample in 0..batch {
        let row = &mut out[sample * to.pitch + to.first..][..to.channels];
        for pixel in 0..pixels {
            let from = input.pixel(sample * pixels + pixel);
            for c in 0..channels {
                row[c * pixels + pixel] = from[c];
            }
        }
    }
}

pub(super) fn softmax(batch: usize, input: Source<'_>, to: View, out: &mut [f32]) {
    for sample in 0..batch {
        let row = &mut out[sample * to.pitch + to.first..][..to.channels];
        row.copy_from_slice(input.pixel(sample));
        crate::compute::softmax_row(row);
    }
}
