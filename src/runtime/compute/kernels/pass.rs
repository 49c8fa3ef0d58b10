//! Steps that pass over the pixels of their output, with any kernel.
//!
//! Reduced numbers are written by way of floats, and steps that go from pixel to pixel also read
//! them that way: a few pixels at a time, so that the floats stay in the nearest cache.

use std::ops::Range;

use super::activations::{RowActivation, TileRows};
use super::memory::{InputPixels, OutputPixels};
use super::reduced::{self, StepOutputs};
use super::task::{self, Call, PlacedStep, StepWeights};
use super::vector::{self, Vector, Vectorised};
use super::{channels, elementwise, norms, resample, table};
use crate::compute::buffers::{ReducedView, TensorView, ValuePlace};
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::compute::reduced::ReducedNumbers;
use crate::network::Pool;

/// The most floats of an operand that are converted from reduced numbers at a time.
const CHUNK: usize = 2 * 1024;

/// Returns whether a step computes each pixel from the same pixel of its inputs, floats or reduced
/// numbers.
pub(in crate::compute) fn is_pixelwise(step: &FusedStep) -> bool {
    matches!(
        step.kernel,
        StepKernel::Copy | StepKernel::ScaleShift | StepKernel::Paired(_)
    )
}

/// Returns the pixels that are computed at a time.
fn chunk(step: &PlacedStep) -> usize {
    (CHUNK / step.output.channels.max(1)).max(1)
}

/// The most values that a step reads pixel by pixel: two inputs and a residual.
const OPERANDS: usize = 3;

/// Returns the reduced numbers read because there are no floats: those of inputs, followed by the
/// residual's.
fn read(step: &PlacedStep) -> [Option<ReducedView>; OPERANDS] {
    let lies_nowhere =
        |view: Option<&TensorView>| view.map(|v| v.place) == Some(ValuePlace::Nowhere);
    let input = |at: usize| {
        let view = step.reduced.inputs.get(at).copied().flatten();
        view.filter(|_| is_pixelwise(&step.fused) && lies_nowhere(step.inputs.get(at)))
    };
    let residual = step.reduced.residual;
    [
        input(0),
        input(1),
        residual.filter(|_| lies_nowhere(step.residual.as_ref())),
    ]
}

/// Returns the pixels of a sample if an input is one row for all of them.
fn sharing(step: &PlacedStep) -> Option<usize> {
    let pixels = step.output.pixels();
    let is_row = |view: &TensorView| view.pixels() != pixels;
    (is_pixelwise(&step.fused) && step.inputs.iter().any(is_row)).then_some(pixels)
}

/// Returns the reduced numbers that a global pool reads if there are no floats.
fn averaged(step: &PlacedStep) -> Option<ReducedView> {
    let is_mean = step.fused.kernel == StepKernel::GlobalAvgPool;
    let lies_nowhere = step.inputs.first()?.place == ValuePlace::Nowhere;
    let first = step.reduced.inputs.first().copied().flatten();
    first.filter(|_| is_mean && lies_nowhere)
}

/// Returns the pool of a step that finds maxima of the numbers that it writes.
fn max_pool_of_reduced(step: &PlacedStep) -> Option<Pool> {
    let StepKernel::MaxPool(pool) = step.fused.kernel else {
        return None;
    };
    let first = step.reduced.inputs.first().copied().flatten()?;
    (step.reduced.output?.numbers == first.numbers).then_some(pool)
}

/// Returns the floats of scratch that a thread needs.
pub(super) fn scratch(step: &PlacedStep) -> usize {
    if let StepKernel::Table(_) = step.fused.kernel {
        return table::scratch(step);
    }
    let reads = read(step).into_iter().flatten().count();
    (reads + usize::from(!step.has_floats())) * chunk(step) * step.output.channels
}

/// Computes the pixels of one task.
///
/// # Safety
/// As for [`PlannedStep::run`](super::step::PlannedStep::run).
pub(super) unsafe fn run(call: &Call<'_>, task: usize) {
    let step = call.step;
    let pixels = task::pixels(step, call.samples, call.threads).range(task);
    if let StepKernel::Table(_) = step.fused.kernel {
        // SAFETY: tasks have disjoint pixels.
        return unsafe { table::run(call, pixels) };
    }
    let is_of_floats =
        step.reduced.output.is_none() && read(step) == [None; OPERANDS] && averaged(step).is_none();
    // SAFETY: tasks have disjoint pixels.
    unsafe {
        if is_of_floats {
            let inputs = step.inputs.iter().map(|&view| call.memory.source(view));
            let residual = step.residual.map(|view| call.memory.source(view));
            let out = call.memory.part(step.output, pixels);
            return pass(call, &inputs.collect::<Vec<_>>(), residual, out);
        }
        if step.fused.kernel == StepKernel::Concat {
            return joined(call, pixels);
        }
        if let Some(pool) = max_pool_of_reduced(step) {
            return pooled(call, pool, pixels);
        }
        let mut first = pixels.start;
        while first < pixels.end {
            let pixels = first..chunk_end(step, first).min(pixels.end);
            first = pixels.end;
            match is_pixelwise(&step.fused) {
                true if paired(call, pixels.clone()) => {}
                true => pixelwise(call, pixels),
                false => windowed(call, pixels),
            }
        }
    }
}

/// Returns the end of the pixels that are computed together, beginning at pixel `first`. Pixels
/// that share a row stay within one sample.
fn chunk_end(step: &PlacedStep, first: usize) -> usize {
    let end = first + chunk(step);
    match sharing(step) {
        Some(pixels) => end.min((first / pixels + 1) * pixels),
        None => end,
    }
}

/// Computes pixels of floats, and also writes them as reduced numbers.
///
/// # Safety
/// As for [`run`]; only this task writes these pixels.
unsafe fn windowed(call: &Call<'_>, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: each thread has its own scratch; a step never reads the slot that it writes.
    unsafe {
        let inputs = step.inputs.iter().map(|&view| call.memory.source(view));
        let residual = step.residual.map(|view| call.memory.source(view));
        let scratch = call.memory.floats_mut(call.memory.own_scratch(call.thread));
        let (mut out, rows) = written(call, scratch, pixels.clone());
        match averaged(step) {
            Some(from) => reduced::global_pool(call, from, &mut out),
            None => pass(call, &inputs.collect::<Vec<_>>(), residual, out),
        }
        StepOutputs::for_task(call, pixels.clone()).reduce(pixels.start, 0, rows);
    }
}

/// Pairs an image of brain floats with a row of each sample, if that is all the step does. Returns
/// whether it did.
///
/// # Safety
/// As for [`windowed`], of pixels of one sample.
unsafe fn paired(call: &Call<'_>, pixels: Range<usize>) -> bool {
    let step = call.step;
    let is_alone = step.fused.activation.is_none() && step.residual.is_none() && !step.has_floats();
    let is_half = |view: &ReducedView| view.numbers == ReducedNumbers::Bf16 && is_alone;
    let (StepKernel::Paired(pairing), Some(to)) =
        (step.fused.kernel, step.reduced.output.filter(is_half))
    else {
        return false;
    };
    let [first, second, _] = read(step);
    let (from, row) = match (first.filter(is_half), second.filter(is_half)) {
        (Some(image), None) => (image, 1),
        (None, Some(image)) => (image, 0),
        _ => return false,
    };
    let row = step.inputs[row];
    if row.pixels() == step.output.pixels() {
        return false;
    }
    let sample = pixels.start / step.output.pixels();
    let (from, to) = (call.memory.reduced(from), call.memory.reduced(to));
    // SAFETY: guaranteed by the caller; a step never reads the slot that it writes.
    unsafe {
        let row = call.memory.source(row).pixel(sample);
        reduced::pair(call, pairing, from, to, row, pixels);
    }
    true
}

/// Computes pixels from the same pixels of the inputs. They are counted from the first of these.
///
/// # Safety
/// As for [`windowed`].
unsafe fn pixelwise(call: &Call<'_>, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: each thread has its own scratch; a step never reads the slot that it writes.
    unsafe {
        let each = chunk(step) * step.output.channels;
        let scratch = call.memory.floats_mut(call.memory.own_scratch(call.thread));
        let mut parts = scratch.chunks_exact_mut(each.max(1));
        let [first, second, residual] = read(step);
        let mut operand = |view: TensorView, numbers: Option<ReducedView>| match numbers {
            None => {
                let pixel = match view.pixels() == step.output.pixels() {
                    true => pixels.start,
                    false => pixels.start / step.output.pixels(),
                };
                call.memory.source(view).starting_at(pixel)
            }
            Some(numbers) => {
                let to = parts.next().unwrap_or_default();
                reduced::expand(call, numbers, pixels.clone(), to);
                InputPixels::dense_rows(to, view)
            }
        };
        let image = operand(step.inputs[0], first);
        let other = step.inputs.get(1).map(|&view| operand(view, second));
        let inputs = [image, other.unwrap_or(image)];
        let inputs = &inputs[..step.inputs.len()];
        let residual = step.residual.map(|view| operand(view, residual));
        let left = parts.next().unwrap_or_default();
        let (out, rows) = written(call, left, pixels.clone());
        pass(call, inputs, residual, out.counted_from_first());
        StepOutputs::for_task(call, pixels.clone()).reduce(pixels.start, 0, rows);
    }
}

/// Returns where the floats of pixels are written, and their rows: `scratch` if they are not kept.
///
/// # Safety
/// As for [`windowed`].
pub(super) unsafe fn written<'a>(
    call: &Call<'a>,
    scratch: &'a mut [f32],
    pixels: Range<usize>,
) -> (OutputPixels<'a>, TileRows) {
    let (output, first, rows) = (call.step.output, pixels.start, pixels.len());
    let out = match call.step.has_floats() {
        // SAFETY: guaranteed by the caller.
        true => unsafe { call.memory.part(output, pixels) },
        false => OutputPixels::dense(scratch, output, pixels),
    };
    let rows = TileRows {
        start: out.ptr(first),
        stride: out.pitch(),
        rows,
        columns: output.channels,
    };
    (out, rows)
}

/// Finds maxima, of floats and of reduced numbers.
///
/// # Safety
/// As for [`windowed`].
unsafe fn pooled(call: &Call<'_>, pool: Pool, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if step.has_floats() {
            let input = call.memory.source(step.inputs[0]);
            let out = call.memory.part(step.output, pixels.clone());
            pass(call, &[input], None, out);
        }
        reduced::max_pool(call, pool, pixels);
    }
}

/// Joins values, as floats and as reduced numbers.
///
/// # Safety
/// As for [`windowed`].
unsafe fn joined(call: &Call<'_>, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if step.has_floats() {
            let inputs = step.inputs.iter().map(|&view| call.memory.source(view));
            let out = call.memory.part(step.output, pixels.clone());
            pass(call, &inputs.collect::<Vec<_>>(), None, out);
        }
        let numbers = step.reduced.output.map(|view| view.numbers);
        let mut inputs = step.reduced.inputs.iter();
        match inputs.all(|input| input.map(|view| view.numbers) == numbers) {
            true => reduced::join(call, pixels),
            false => reduced::reduce_pixels(call, pixels),
        }
    }
}

/// Computes the pixels of `out` from inputs and residuals.
///
/// # Safety
/// As for [`run`].
unsafe fn pass(
    call: &Call<'_>,
    inputs: &[InputPixels<'_>],
    residual: Option<InputPixels<'_>>,
    out: OutputPixels<'_>,
) {
    let step = call.step;
    let pass = Pass {
        step,
        // SAFETY: the family is available.
        rows: unsafe { RowActivation::new(call.family, step.fused.activation) },
        weights: call.weights,
        inputs,
        residual,
        out,
    };
    // SAFETY: the family is available, and the pass needs nothing else.
    unsafe { vector::dispatch(call.family, pass) }
}

/// A pass over pixels. Its loops are plain; the dispatch lets the compiler vectorise them for
/// the family's instructions.
struct Pass<'a> {
    step: &'a PlacedStep,
    rows: Option<RowActivation>,
    weights: &'a StepWeights,
    inputs: &'a [InputPixels<'a>],
    residual: Option<InputPixels<'a>>,
    out: OutputPixels<'a>,
}

impl Vectorised for Pass<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Pass {
            step,
            rows,
            weights,
            inputs,
            residual,
            mut out,
        } = self;
        let end = elementwise::Epilogue {
            residual,
            activation: step.fused.activation,
            rows,
        };
        let (input, to) = (inputs[0], step.output);
        match step.fused.kernel {
            StepKernel::Convolution(_)
            | StepKernel::Linear
            | StepKernel::Tensor(_)
            | StepKernel::Table(_) => {}
            StepKernel::RangedBytes | StepKernel::RangedLinear { .. } => {}
            StepKernel::ScaleShift => {
                // SAFETY: the family's instructions are enabled here.
                unsafe { elementwise::scale_shift::<V>(weights, input, &end, &mut out) };
            }
            StepKernel::Copy | StepKernel::Channels(_) => {
                // SAFETY: as above.
                unsafe { elementwise::copy::<V>(input, &end, &mut out) };
            }
            StepKernel::Paired(pairing) => {
                // SAFETY: as above.
                unsafe { channels::paired::<V>(pairing, inputs, to, &end, &mut out) };
            }
            StepKernel::ChannelShuffle(groups) => channels::shuffle(groups, input, &mut out),
            StepKernel::LocalResponseNorm(norm) => norms::response_norm(norm, input, &mut out),
            StepKernel::LayerNorm(eps) => {
                // SAFETY: as above.
                unsafe { norms::layer_norm::<V>(eps, weights, input, &end, &mut out) };
            }
            StepKernel::Enter => elementwise::enter(input, &mut out),
            StepKernel::Flatten => elementwise::flatten(input, &mut out),
            StepKernel::Softmax(masked) => {
                // SAFETY: as above.
                unsafe { norms::softmax::<V>(masked, input, &mut out) };
            }
            StepKernel::Concat => elementwise::concat(inputs, to, &mut out),
            StepKernel::MaxPool(pool) => resample::max_pool(pool, input, to, &mut out),
            StepKernel::AvgPool(pool) => {
                // SAFETY: as above.
                unsafe { resample::average_pool::<V>(pool, input, to, &mut out) };
            }
            StepKernel::GlobalAvgPool => {
                // SAFETY: as above.
                unsafe { resample::global_pool::<V>(input, &mut out) };
            }
            StepKernel::AdaptiveAvgPool => {
                // SAFETY: as above.
                unsafe { resample::adaptive_pool::<V>(input, to, &mut out) };
            }
            StepKernel::Upscale => resample::bilinear(input, to, &mut out),
        }
    }
}
