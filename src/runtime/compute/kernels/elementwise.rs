//! Steps that read each value once, and the epilogue of others.

use std::ops::Range;

use super::activations::RowActivation;
use super::memory::{InputPixels, OutputPixels};
use super::task::StepWeights;
use super::vector::Vector;
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Activation;

/// The sum and the activation that a step applies to its result while that is in cache.
pub(super) struct Epilogue<'a> {
    pub residual: Option<InputPixels<'a>>,
    pub activation: Option<Activation>,
    /// The pass of an activation that is neither ReLU nor ReLU6.
    pub rows: Option<RowActivation>,
}

/// Neighbouring channels of a pixel: a vector of them, or the last few.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    first: usize,
    n: usize,
}

impl Lanes {
    /// Returns all channels of a row, vector by vector.
    #[inline(always)]
    pub(super) fn by_vector<V: Vector>(channels: usize) -> impl Iterator<Item = Lanes> {
        let starts = (0..channels).step_by(V::LANES);
        starts.map(move |first| Lanes {
            first,
            n: V::LANES.min(channels - first),
        })
    }

    /// Returns these channels of a row.
    ///
    /// # Safety
    /// The processor has the family's instructions, and the row has these channels.
    #[inline(always)]
    pub(super) unsafe fn load<V: Vector>(self, row: &[f32]) -> V {
        debug_assert!(self.first + self.n <= row.len());
        // SAFETY: guaranteed by the caller.
        unsafe {
            let from = row.as_ptr().add(self.first);
            match self.n == V::LANES {
                true => V::load(from),
                false => V::load_part(from, self.n),
            }
        }
    }

    /// Writes these channels of a row.
    ///
    /// # Safety
    /// As for [`Lanes::load`].
    #[inline(always)]
    pub(super) unsafe fn store<V: Vector>(self, values: V, row: &mut [f32]) {
        debug_assert!(self.first + self.n <= row.len());
        // SAFETY: guaranteed by the caller.
        unsafe {
            let to = row.as_mut_ptr().add(self.first);
            match self.n == V::LANES {
                true => values.store(to),
                false => values.store_part(to, self.n),
            }
        }
    }
}

impl Epilogue<'_> {
    /// Writes the row of contiguous pixels in one pass: `value` of its channels, then bias,
    /// residual and activation. `bias` is empty or has a value for each channel.
    ///
    /// # Safety
    /// The processor has the family's instructions; `value` accepts all channels.
    #[inline(always)]
    pub(super) unsafe fn write<V: Vector>(
        &self,
        bias: &[f32],
        pixels: Range<usize>,
        row: &mut [f32],
        value: impl Fn(Lanes) -> V,
    ) {
        let residual = self.residual.as_ref().map(|from| from.run(pixels));
        assert!(bias.is_empty() || row.len() <= bias.len());
        assert!(residual.is_none_or(|from| row.len() <= from.len()));
        for lanes in Lanes::by_vector::<V>(row.len()) {
            // SAFETY: guaranteed by the caller; the rows were checked.
            unsafe {
                let mut sum = value(lanes);
                if !bias.is_empty() {
                    sum = sum.add(lanes.load(bias));
                }
                if let Some(residual) = residual {
                    sum = sum.add(lanes.load(residual));
                }
                let answer = match self.activation {
                    Some(Activation::Relu) => sum.relu(),
                    Some(Activation::Relu6) => sum.relu().at_most(6.0),
                    _ => sum,
                };
                lanes.store(answer, row);
            }
        }
        if let Some(rows) = &self.rows {
            rows.row(row);
        }
    }
}

/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn scale_shift<V: Vector>(
    weights: &StepWeights,
    input: InputPixels<'_>,
    end: &Epilogue<'_>,
    out: &mut OutputPixels<'_>,
) {
    let scale = weights.packed.values();
    for pixel in out.pixels.clone() {
        let (from, row) = (input.pixel(pixel), out.row(pixel));
        assert!(row.len() <= from.len().min(scale.len()));
        // SAFETY: guaranteed by the caller; the rows were checked.
        unsafe {
            end.write::<V>(&weights.bias, pixel..pixel + 1, row, |lanes| {
                lanes.load::<V>(from).mul(lanes.load(scale))
            });
        }
    }
}

/// The floats of neighbouring pixels copied at once, so that they stay in the nearest cache.
const RUN: usize = 1024;

/// # Safety
/// The processor has the family's instructions.
#[inline(always)]
pub(super) unsafe fn copy<V: Vector>(
    input: InputPixels<'_>,
    end: &Epilogue<'_>,
    out: &mut OutputPixels<'_>,
) {
    let is_dense = [Some(&input), end.residual.as_ref()]
        .into_iter()
        .flatten()
        .all(|from| from.view.is_dense());
    let each = match is_dense && out.is_dense() {
        true => (RUN / input.view.channels.max(1)).max(1),
        false => 1,
    };
    for first in out.pixels.clone().step_by(each) {
        let pixels = first..out.pixels.end.min(first + each);
        let from = input.run(pixels.clone());
        let Some(row) = out.rows(pixels.clone()) else {
            return;
        };
        assert!(row.len() <= from.len());
        // SAFETY: guaranteed by the caller; the row was checked.
        unsafe { end.write::<V>(&[], pixels, row, |lanes| lanes.load(from)) };
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

/// The most pixels for which a channel is copied at once, so that they stay in the nearest cache.
const ENTERING: usize = 256;

/// The channels of most images: their planes are turned into pixels by shuffles.
const PLANES: usize = 3;

/// Writes the values of planes pixel by pixel.
#[inline(always)]
fn interleave(planes: [&[f32]; PLANES], rows: &mut [f32]) {
    let (rows, _) = rows.as_chunks_mut::<PLANES>();
    let planes = planes.map(|plane| &plane[..rows.len()]);
    for (at, row) in rows.iter_mut().enumerate() {
        for (value, plane) in row.iter_mut().zip(planes) {
            *value = plane[at];
        }
    }
}

/// Turns samples from channels-first to channels-last.
#[inline(always)]
pub(super) fn enter(input: InputPixels<'_>, out: &mut OutputPixels<'_>) {
    let (pixels, channels) = (input.view.pixels(), input.view.channels);
    let mut at = out.pixels.start;
    while at < out.pixels.end {
        let (sample, first) = (at / pixels, at % pixels);
        let run = ENTERING.min(pixels - first).min(out.pixels.end - at);
        let plane =
            |channel: usize| &input.data[(sample * channels + channel) * pixels + first..][..run];
        let rows = out.rows(at..at + run).filter(|_| channels == PLANES);
        if let Some(rows) = rows {
            interleave(std::array::from_fn(plane), rows);
            at += run;
            continue;
        }
        for channel in 0..channels {
            for (value, pixel) in plane(channel).iter().zip(at..) {
                out.row(pixel)[channel] = *value;
            }
        }
        at += run;
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
