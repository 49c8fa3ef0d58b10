//! Normalisation of rows: softmax, and norms across the channels of each pixel.

use super::buffer::LINE;
use super::elementwise::Epilogue;
use super::functions::exp;
use super::memory::{InputPixels, OutputPixels};
use super::task::StepWeights;
use super::vector::Vector;
use crate::compute::fuse::MaskedRows;
use crate::network::ResponseNorm;

/// Returns the sum of values, in lanes that the compiler makes vectors of.
#[inline(always)]
pub(super) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LINE];
    let lines = values.chunks_exact(LINE);
    let rest: f32 = lines.remainder().iter().sum();
    for line in lines {
        for (sum, v) in lanes.iter_mut().zip(line) {
            *sum += v;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// Returns the sum of squared differences from `mean`.
#[inline(always)]
fn squares(values: &[f32], mean: f32) -> f32 {
    let mut lanes = [0.0f32; LINE];
    let lines = values.chunks_exact(LINE);
    let mut rest = 0.0;
    for v in lines.remainder() {
        rest += (v - mean) * (v - mean);
    }
    for line in lines {
        for (sum, v) in lanes.iter_mut().zip(line) {
            *sum += (v - mean) * (v - mean);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// Returns the largest value, ignoring NaN.
#[inline(always)]
pub(super) fn largest(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LINE];
    let lines = values.chunks_exact(LINE);
    for (best, &v) in lanes.iter_mut().zip(lines.remainder()) {
        *best = if v > *best { v } else { *best };
    }
    for line in lines {
        for (best, &v) in lanes.iter_mut().zip(line) {
            *best = if v > *best { v } else { *best };
        }
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Turns each row into probabilities. A NaN makes its whole row NaN.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn softmax<V: Vector>(
    masked: MaskedRows,
    input: InputPixels<'_>,
    out: &mut OutputPixels<'_>,
) {
    for sample in out.pixels.clone() {
        let row = out.row(sample);
        row.copy_from_slice(input.pixel(sample));
        let most = largest(row);
        if masked == MaskedRows::Zeros && is_masked(row, most) {
            row.fill(0.0);
            continue;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { exponentials::<V>(row, most) };
        let total = sum(row);
        for value in row {
            *value /= total;
        }
    }
}

/// Returns whether a row holds only −∞. `most` is its largest value, ignoring NaN.
#[inline(always)]
fn is_masked(row: &[f32], most: f32) -> bool {
    most == f32::NEG_INFINITY && !row.iter().any(|v| v.is_nan())
}

/// Replaces each value by the exponential of its difference from `most`.
///
/// # Safety
/// As for [`softmax`].
#[inline(always)]
pub(super) unsafe fn exponentials<V: Vector>(row: &mut [f32], most: f32) {
    let mut vectors = row.chunks_exact_mut(V::LANES);
    // SAFETY: each chunk is a whole vector, and the rest is shorter than one.
    unsafe {
        let most = V::splat(most);
        for vector in &mut vectors {
            exp(V::load(vector.as_ptr()).sub(most)).store(vector.as_mut_ptr());
        }
        let rest = vectors.into_remainder();
        if !rest.is_empty() {
            let values = V::load_part(rest.as_ptr(), rest.len()).sub(most);
            exp(values).store_part(rest.as_mut_ptr(), rest.len());
        }
    }
}

/// Norms the channels of each pixel by their own mean and variance.
///
/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn layer_norm<V: Vector>(
    eps: f32,
    weights: &StepWeights,
    input: InputPixels<'_>,
    end: &Epilogue<'_>,
    out: &mut OutputPixels<'_>,
) {
    let scale = weights.packed.values();
    for pixel in out.pixels.clone() {
        let from = input.pixel(pixel);
        let share = 1.0 / from.len() as f32;
        let mean = sum(from) * share;
        let deviation = (squares(from, mean) * share + eps).sqrt();
        let factor = 1.0 / deviation;
        let row = out.row(pixel);
        assert!(row.len() <= from.len().min(scale.len()));
        // SAFETY: guaranteed by the caller; the rows were checked.
        unsafe {
            let (mean, factor) = (V::splat(mean), V::splat(factor));
            end.write::<V>(&weights.bias, pixel..pixel + 1, row, |lanes| {
                let from = lanes.load::<V>(from).sub(mean);
                from.mul(factor).mul(lanes.load(scale))
            });
        }
    }
}

/// Norms each value by the squares of the channels around it.
#[inline(always)]
pub(super) fn response_norm(
    norm: ResponseNorm,
    input: InputPixels<'_>,
    out: &mut OutputPixels<'_>,
) {
    let (before, behind) = norm.reach();
    let share = norm.alpha / norm.size as f32;
    for pixel in out.pixels.clone() {
        let (from, row) = (input.pixel(pixel), out.row(pixel));
        row.fill(0.0);
        let channels = row.len();
        for shift in 0..channels.min(behind + 1) {
            add_squares(&mut row[..channels - shift], &from[shift..]);
        }
        for shift in 1..channels.min(before + 1) {
            add_squares(&mut row[shift..], &from[..channels - shift]);
        }
        for (o, v) in row.iter_mut().zip(from) {
            *o = v / power(norm.k + share * *o, norm.beta);
        }
    }
}

#[inline(always)]
fn add_squares(sums: &mut [f32], values: &[f32]) {
    for (sum, v) in sums.iter_mut().zip(values) {
        *sum += v * v;
    }
}

/// Returns `base` to the power of `exponent`. The usual exponent of networks needs only roots.
#[inline(always)]
fn power(base: f32, exponent: f32) -> f32 {
    if exponent == 0.75 {
        let root = base.sqrt();
        return root * root.sqrt();
    }
    base.powf(exponent)
}
