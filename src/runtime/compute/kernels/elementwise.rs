//! Steps that read each value once, and the epilogue of others.

use super::activations::RowActivation;
use super::memory::{InputPixels, OutputPixels};
use super::task::StepWeights;
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Activation;

/// The sum and the activation that a step applies to its result while that is in cache.
pub(super) struct Epilogue<'a> {
    pub residual: Option<InputPixels<'a>>,
    pub activation: Option<Activation>,
    /// The pass of an activation that is neither ReLU nor ReLU6.
    pub rows: Option<RowActivation>,
}

impl Epilogue<'_> {
    /// Adds bias and residual to pixel `pixel`, then applies the activation.
    #[inline(always)]
    pub(super) fn finish(&self, bias: &[f32], pixel: usize, row: &mut [f32]) {
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
            _ => {}
        }
        if let Some(rows) = &self.rows {
            rows.row(row);
        }
    }
}

/// Keeps NaN as NaN, which `f32::max` would not.
#[inline(always)]
fn relu(row: &mut [f32]) {
    for value in row {
        *value = if *value < 0.0 { 0.0 } else { *value };
    }
}

/// Keeps NaN as NaN, as `clamp` does.
#[inline(always)]
fn relu6(row: &mut [f32]) {
    for value in row {
        *value = value.clamp(0.0, 6.0);
    }
}

#[inline(always)]
pub(super) fn scale_shift(
    weights: &StepWeights,
    input: InputPixels<'_>,
    end: &Epilogue<'_>,
    out: &mut OutputPixels<'_>,
) {
    let scale = weights.packed.values();
    for pixel in out.pixels.clone() {
        let row = out.row(pixel);
        for ((o, v), s) in row.iter_mut().zip(input.pixel(pixel)).zip(scale) {
            *o = v * s;
        }
        end.finish(&weights.bias, pixel, row);
    }
}

#[inline(always)]
pub(super) fn copy(input: InputPixels<'_>, end: &Epilogue<'_>, out: &mut OutputPixels<'_>) {
    for pixel in out.pixels.clone() {
        let row = out.row(pixel);
        row.copy_from_slice(input.pixel(pixel));
        end.finish(&[], pixel, row);
    }
}

/// Copies the inputs that were not written in place.
#[inline(always)]
pub(super) fn concat(inputs: &[InputPixels<'_>], to: TensorView, out: &mut OutputPixels<'_>) {
    let mut first = 0;
    for input in inputs {
        let channels = input.view.channels;
        let in_place = input.view.place == to.place && input.view.place != ValuePlace::Input;
        if !in_place {
            for pixel in out.pixels.clone() {
                out.row(pixel)[first..][..channels].copy_from_slice(input.pixel(pixel));
            }
        }
        first += channels;
    }
}

/// Turns samples from channels-first to channels-last.
#[inline(always)]
pub(super) fn enter(input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let (pixels, channels) = (input.view.pixels(), input.view.channels);
    for at in out.pixels.clone() {
        let from = &input.data[at / pixels * pixels * channels + at % pixels..];
        for (c, value) in out.row(at).iter_mut().enumerate() {
            *value = from[c * pixels];
        }
    }
}

/// Turns channels-last images into vectors with channels slowest; a pixel of the answer is a
/// whole sample.
#[inline(always)]
pub(super) fn flatten(input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let pixels = input.view.pixels();
    for sample in out.pixels.clone() {
        let row = out.row(sample);
        for pixel in 0..pixels {
            let from = input.pixel(sample * pixels + pixel);
            for (c, &v) in from.iter().enumerate() {
                row[c * pixels + pixel] = v;
            }
        }
    }
}

/// Turns a row of logits into probabilities in place. A NaN makes the whole row NaN.
pub fn softmax_row(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = (*value - max).exp();
        sum += *value;
    }
    for value in row.iter_mut() {
        *value /= sum;
    }
}
