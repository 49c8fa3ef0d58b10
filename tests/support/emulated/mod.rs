//! Runs the lowering for GPUs step by step in host memory, without a GPU.
//!
//! Slow and simple, it specifies the results of a GPU's kernels for a plan, its arena and the
//! layout of its weights, so that these can be tested on machines without a GPU. Values are rounded
//! to the plan's precision where a GPU stores them, and memory that was never written is NaN.

mod tensors;
mod windows;

use divisi_runtime::compute::activate_plainly;
use divisi_runtime::compute::gpu::{
    GpuOp, GpuPlan, GpuStep, MaskedRows, Pairing, Precision, StepArrays, TensorView, ValuePlace,
    WeightLayout,
};
use divisi_runtime::network::{Activation, Conv2d, Graph, ResponseNorm, Weights};
use half::{bf16, f16};

use windows::{pooled, region, resized};

/// A network lowered for a GPU, run in host memory.
#[derive(Clone, Debug)]
pub struct Emulated {
    plan: GpuPlan,
    arrays: WeightLayout,
    weights: Vec<u8>,
}

/// The arena of one batch.
struct EmulatedArena {
    rows: usize,
    entry: Vec<f32>,
    slots: Vec<Vec<f32>>,
    answers: Vec<f32>,
}

impl Emulated {
    /// Lowers `graph` with its weights for `precision`.
    pub fn new(graph: &Graph, weights: &Weights, precision: Precision) -> Self {
        let plan = GpuPlan::new(graph, precision);
        let arrays = WeightLayout::new(graph, &plan);
        Emulated {
            weights: arrays.fill(graph, weights, &plan),
            arrays,
            plan,
        }
    }

    /// Returns the answers of `samples` (`[rows, inputs]`), as `[rows, outputs]`.
    pub fn answer(&self, samples: &[f32]) -> Vec<f32> {
        let rows = samples.len() / self.plan.inputs.max(1);
        let slots = self.plan.slots.iter();
        let mut arena = EmulatedArena {
            rows,
            entry: vec![f32::NAN; rows * self.plan.entry],
            slots: slots.map(|s| vec![f32::NAN; rows * s]).collect(),
            answers: vec![f32::NAN; rows * self.plan.outputs],
        };
        for (step, arrays) in self.plan.steps.iter().zip(&self.arrays.steps) {
            self.run(step, arrays, samples, &mut arena);
        }
        arena.answers
    }

    fn run(&self, step: &GpuStep, arrays: &StepArrays, samples: &[f32], arena: &mut EmulatedArena) {
        match step.op {
            GpuOp::Enter { channels, .. } => self.enter(step, channels, samples, arena),
            GpuOp::SoftmaxAnswer(_) | GpuOp::Answer => self.leave(step, arena),
            GpuOp::Softmax(masked) => self.softmax(masked, step, arena),
            GpuOp::Tensor => {
                if let Some(work) = &step.tensor {
                    self.run_tensor(work, arrays, arena);
                }
            }
            _ => {
                let made = arena.each_output(&step.output, |at| {
                    let value = self.value(step, arrays, arena, at);
                    self.finish(step, arrays, arena, at, value)
                });
                arena.write(&step.output, &made);
            }
        }
    }

    fn enter(&self, step: &GpuStep, channels: usize, samples: &[f32], arena: &mut EmulatedArena) {
        let pixels = step.output.pixels();
        let made = arena.each_output(&step.output, |at| match at.channel < channels {
            true => {
                let first = (at.row * channels + at.channel) * pixels;
                self.rounded(samples[first + at.y * step.output.width + at.x], step.wide)
            }
            false => 0.0,
        });
        arena.write(&step.output, &made);
    }

    /// Returns one value of a step, before bias, sum and activation.
    fn value(
        &self,
        step: &GpuStep,
        arrays: &StepArrays,
        arena: &EmulatedArena,
        at: ValueIndex,
    ) -> f32 {
        let input = &step.input;
        match step.op {
            GpuOp::Dense(conv) | GpuOp::Depthwise(conv) | GpuOp::Grouped(conv) => {
                self.convolved(step, conv, arrays, arena, at)
            }
            GpuOp::MaxPool(pool) => {
                pooled(arena, input, pool, at).fold(f32::NEG_INFINITY, |best, v| {
                    match v > best || v.is_nan() {
                        true => v,
                        false => best,
                    }
                })
            }
            GpuOp::MeanPool(pool) => {
                let inside = pooled(arena, input, pool, at).count();
                let area = pool.kernel * pool.kernel;
                let count = if pool.count_include_pad { area } else { inside };
                pooled(arena, input, pool, at).sum::<f32>() / count as f32
            }
            GpuOp::Regions => region(arena, step, at),
            GpuOp::Resize => resized(arena, step, at),
            GpuOp::Flatten => {
                let (channel, pixel) = (at.channel / input.pixels(), at.channel % input.pixels());
                arena.read(
                    input,
                    at.row,
                    pixel / input.width,
                    pixel % input.width,
                    channel,
                )
            }
            GpuOp::Paired(pairing) => paired(arena, step, pairing, at),
            GpuOp::Shuffle(groups) => {
                let (place, group) = (at.channel / groups, at.channel % groups);
                let channel = group * (input.channels / groups) + place;
                arena.read(input, at.row, at.y, at.x, channel)
            }
            GpuOp::ResponseNorm(norm) => response_normed(arena, input, norm, at),
            GpuOp::LayerNorm(eps) => layer_normed(arena, input, eps, at),
            _ => arena.read(input, at.row, at.y, at.x, at.channel),
        }
    }

    fn convolved(
        &self,
        step: &GpuStep,
        conv: Conv2d,
        arrays: &StepArrays,
        arena: &EmulatedArena,
        at: ValueIndex,
    ) -> f32 {
        let dense = matches!(step.op, GpuOp::Dense(_));
        let inputs = step.input.channels / conv.groups;
        let first = at.channel / (conv.channels / conv.groups) * inputs;
        let filters = arrays.filters.unwrap_or(0);
        let mut sum = 0.0;
        for tap in 0..conv.kernel.area() {
            let (ky, kx) = (tap / conv.kernel.width, tap % conv.kernel.width);
            let y = (at.y * conv.stride + ky * conv.dilation).checked_sub(conv.padding.height);
            let x = (at.x * conv.stride + kx * conv.dilation).checked_sub(conv.padding.width);
            let inside = |y: &usize, x: &usize| *y < step.input.height && *x < step.input.width;
            let Some((y, x)) = y.zip(x).filter(|(y, x)| inside(y, x)) else {
                continue;
            };
            for input in 0..inputs {
                let index = match dense {
                    true => (at.channel * conv.kernel.area() + tap) * inputs + input,
                    false => (tap * inputs + input) * conv.channels + at.channel,
                };
                let weight = self.number(filters, index, self.plan.precision);
                sum += weight * arena.read(&step.input, at.row, y, x, first + input);
            }
        }
        sum
    }

    /// Applies scale, bias, sum and activation, and rounds.
    fn finish(
        &self,
        step: &GpuStep,
        arrays: &StepArrays,
        arena: &EmulatedArena,
        at: ValueIndex,
        value: f32,
    ) -> f32 {
        let of = |array: Option<usize>, none: f32| {
            array.map_or(none, |first| self.number(first, at.channel, Precision::F32))
        };
        let residual = step.residual.map_or(0.0, |view| {
            arena.read(&view, at.row, at.y, at.x, at.channel)
        });
        let value = value * of(arrays.scale, 1.0) + of(arrays.bias, 0.0) + residual;
        let activated = match step.activation {
            None => value,
            Some(Activation::Relu) => value.max(0.0),
            Some(Activation::Relu6) => value.clamp(0.0, 6.0),
            Some(other) => {
                let mut row = [value];
                activate_plainly(other, &mut row);
                row[0]
            }
        };
        self.rounded(activated, step.wide)
    }

    fn softmax(&self, masked: MaskedRows, step: &GpuStep, arena: &mut EmulatedArena) {
        let mut made = arena.each_output(&step.input, |at| {
            arena.read(&step.input, at.row, at.y, at.x, at.channel)
        });
        for row in made.chunks_exact_mut(step.input.channels) {
            shares_of_row(masked, row);
            row.iter_mut()
                .for_each(|v| *v = self.rounded(*v, step.wide));
        }
        arena.write(&step.output, &made);
    }

    /// Writes the answer, an image's channels slowest.
    fn leave(&self, step: &GpuStep, arena: &mut EmulatedArena) {
        let view = step.input;
        let made = arena.each_output(&view, |at| {
            arena.read(&view, at.row, at.y, at.x, at.channel)
        });
        let (channels, pixels) = (view.channels, view.pixels());
        if let GpuOp::SoftmaxAnswer(masked) = step.op {
            arena.answers.copy_from_slice(&made);
            let rows = arena.answers.chunks_exact_mut(channels);
            return rows.for_each(|row| shares_of_row(masked, row));
        }
        for (at, value) in made.into_iter().enumerate() {
            let (row, pixel, channel) = (
                at / channels / pixels,
                at / channels % pixels,
                at % channels,
            );
            arena.answers[(row * channels + channel) * pixels + pixel] = value;
        }
    }

    /// Returns value number `index` of the array that begins at byte `first`.
    fn number(&self, first: usize, index: usize, precision: Precision) -> f32 {
        let bytes = &self.weights[first + index * precision.bytes()..];
        match (precision, bytes) {
            (Precision::F32 | Precision::Tf32, [a, b, c, d, ..]) => {
                f32::from_ne_bytes([*a, *b, *c, *d])
            }
            (Precision::Bf16, [a, b, ..]) => bf16::from_ne_bytes([*a, *b]).to_f32(),
            (Precision::F16, [a, b, ..]) => f16::from_ne_bytes([*a, *b]).to_f32(),
            _ => f32::NAN,
        }
    }

    /// Rounds a value for storage, unless it is `wide`.
    fn rounded(&self, value: f32, wide: bool) -> f32 {
        match self.plan.precision {
            _ if wide => value,
            Precision::F32 | Precision::Tf32 => value,
            Precision::Bf16 => bf16::from_f32(value).to_f32(),
            Precision::F16 => f16::from_f32(value).to_f32(),
        }
    }
}

/// The position of a value in a batch of images.
#[derive(Clone, Copy)]
struct ValueIndex {
    row: usize,
    y: usize,
    x: usize,
    channel: usize,
}

impl EmulatedArena {
    fn place(&self, place: ValuePlace) -> &[f32] {
        match place {
            ValuePlace::Slot(slot) => &self.slots[slot],
            ValuePlace::Shared | ValuePlace::Input | ValuePlace::Nowhere => &self.entry,
        }
    }

    fn place_mut(&mut self, place: ValuePlace) -> &mut [f32] {
        match place {
            ValuePlace::Slot(slot) => &mut self.slots[slot],
            ValuePlace::Shared | ValuePlace::Input | ValuePlace::Nowhere => &mut self.entry,
        }
    }

    fn read(&self, view: &TensorView, row: usize, y: usize, x: usize, channel: usize) -> f32 {
        let pixel = row * view.pixels() + y * view.width + x;
        self.place(view.place)[pixel * view.pitch + view.first + channel]
    }

    /// Returns the result of `make` for every value of a view, pixel after pixel.
    fn each_output(&self, view: &TensorView, make: impl Fn(ValueIndex) -> f32) -> Vec<f32> {
        let (channels, pixels) = (view.channels, view.pixels());
        let all = 0..self.rows * pixels * channels;
        let at = |i: usize| ValueIndex {
            row: i / channels / pixels,
            y: i / channels % pixels / view.width,
            x: i / channels % view.width,
            channel: i % channels,
        };
        all.map(|i| make(at(i))).collect()
    }

    fn write(&mut self, view: &TensorView, values: &[f32]) {
        let buffer = self.place_mut(view.place);
        for (pixel, values) in values.chunks_exact(view.channels).enumerate() {
            buffer[pixel * view.pitch + view.first..][..view.channels].copy_from_slice(values);
        }
    }
}

/// Turns a row of logits into probabilities in place. A NaN makes the whole row NaN.
fn softmax_row(row: &mut [f32]) {
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

/// Turns a row of scores into shares in place.
fn shares_of_row(masked: MaskedRows, row: &mut [f32]) {
    match masked == MaskedRows::Zeros && row.iter().all(|&v| v == f32::NEG_INFINITY) {
        true => row.fill(0.0),
        false => softmax_row(row),
    }
}

/// Returns the sum or product of two values; the other operand may be one pixel for all.
fn paired(arena: &EmulatedArena, step: &GpuStep, pairing: Pairing, at: ValueIndex) -> f32 {
    let value = arena.read(&step.input, at.row, at.y, at.x, at.channel);
    let other = step.other.map_or(f32::NAN, |view| {
        let (y, x) = match view.pixels() == step.output.pixels() {
            true => (at.y, at.x),
            false => (0, 0),
        };
        arena.read(&view, at.row, y, x, at.channel)
    });
    match pairing {
        Pairing::Sum => value + other,
        Pairing::Product => value * other,
    }
}

fn response_normed(
    arena: &EmulatedArena,
    input: &TensorView,
    norm: ResponseNorm,
    at: ValueIndex,
) -> f32 {
    let (before, behind) = norm.reach();
    let read = |channel| arena.read(input, at.row, at.y, at.x, channel);
    let last = (at.channel + behind).min(input.channels - 1);
    let around = at.channel.saturating_sub(before)..=last;
    let sum: f32 = around.map(|c| read(c) * read(c)).sum();
    read(at.channel) / (norm.k + norm.alpha / norm.size as f32 * sum).powf(norm.beta)
}

/// Returns a value less the mean of its pixel's channels, over their deviation.
fn layer_normed(arena: &EmulatedArena, input: &TensorView, eps: f32, at: ValueIndex) -> f32 {
    let read = |channel| arena.read(input, at.row, at.y, at.x, channel);
    let count = input.channels as f32;
    let mean = (0..input.channels).map(read).sum::<f32>() / count;
    let squares = (0..input.channels).map(|c| (read(c) - mean) * (read(c) - mean));
    (read(at.channel) - mean) / (squares.sum::<f32>() / count + eps).sqrt()
}
