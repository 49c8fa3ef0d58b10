//! Planned steps: their operands, and the methods that compute them.

use std::ops::Range;

use super::activations::{RowActivation, TileRows};
use super::convolution::Convolution;
use super::memory::{InputPixels, OutputPixels};
use super::panels::Filters;
use super::quantized::Quantized;
use super::reduced::{self, ReducedProduct, TileOutputs};
use super::target::KernelTarget;
use super::task::{
    self, Call, MAX_PHASES, PlacedStep, ReducedOperands, Scratch, Split, StepWeights,
};
use super::tensors::TensorMethod;
use super::vector::{self, Vector, Vectorised};
use super::winograd::Winograd;
use super::{channels, elementwise, norms, resample};
use crate::compute::buffers::TensorView;
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::network::Conv2d;

/// A placed step with the method that computes it.
#[derive(Clone, Debug)]
pub(in crate::compute) struct PlannedStep {
    pub placed: PlacedStep,
    pub method: StepMethod,
}

/// The algorithm that computes a step.
#[derive(Clone, Debug)]
pub(in crate::compute) enum StepMethod {
    /// A pass over the output's pixels, whatever the kernel.
    Simple,
    /// One product over rows that are read where they lie.
    Convolution(Box<Convolution>),
    /// One product in int8.
    Quantized(Box<Quantized>),
    /// One product over rows of reduced numbers.
    Reduced(Box<ReducedProduct>),
    /// Winograd's algorithm.
    Winograd(Box<Winograd>),
    /// An operation on tensors of any rank.
    Tensor(Box<TensorMethod>),
    /// Candle's operations, for what has no kernel.
    Candle,
}

/// Returns the convolution that a weighted step is.
fn convolution(fused: &FusedStep, output: TensorView) -> Option<Conv2d> {
    match fused.kernel {
        StepKernel::Convolution(conv) => Some(conv),
        StepKernel::Linear => Some(Conv2d::new(output.channels, 1)),
        _ => None,
    }
}

/// Whether a step that does not read samples channels-first is a product over reduced numbers. Where
/// these are widened to be multiplied, Winograd's algorithm is faster in float32.
pub(in crate::compute) fn reads_reduced(
    fused: &FusedStep,
    input: TensorView,
    output: TensorView,
    target: KernelTarget,
) -> bool {
    let (Some(kernel), Some(numbers)) = (target.halves, target.reduced_numbers()) else {
        return false;
    };
    convolution(fused, output).is_some_and(|conv| {
        let is_faster =
            kernel.is_native() || Winograd::new(conv, input, output, target.shape).is_none();
        reduced::suits(conv, input, numbers.group()) && is_faster
    })
}

/// Whether a step writes reduced numbers by itself, so that floats need not be there; `entry` says
/// that it reads samples channels-first.
pub(in crate::compute) fn writes_reduced(
    fused: &FusedStep,
    input: TensorView,
    output: TensorView,
    (target, entry): (KernelTarget, bool),
) -> bool {
    match (fused.kernel, convolution(fused, output)) {
        (StepKernel::Tensor(_), _) => false,
        (_, Some(conv)) => {
            entry
                || reads_reduced(fused, input, output, target)
                || Winograd::new(conv, input, output, target.shape).is_none()
        }
        _ => true,
    }
}

impl StepMethod {
    /// Chooses the method for a step; `entry` says that the input is channels-first.
    pub(crate) fn new(
        fused: &FusedStep,
        (inputs, reduced): (&[TensorView], &ReducedOperands),
        output: TensorView,
        entry: bool,
        target: KernelTarget,
    ) -> Self {
        let (input, shape) = (inputs[0], target.shape);
        let first = reduced.inputs.first().copied().flatten();
        let half = target.halves.zip(first).filter(|_| !entry);
        if let Some((kernel, input)) = half
            && reads_reduced(fused, input.view, output, target)
            && let Some(conv) = convolution(fused, output)
        {
            let product = ReducedProduct::new(conv, input, output, kernel);
            return StepMethod::Reduced(Box::new(match fused.kernel {
                StepKernel::Linear => product.of_tokens(),
                _ => product,
            }));
        }
        let conv = match fused.kernel {
            StepKernel::Convolution(conv) => conv,
            StepKernel::Linear => {
                let conv = Conv2d::new(output.channels, 1);
                if let Some(layer) = Quantized::new(conv, input, output, target) {
                    return StepMethod::Quantized(Box::new(layer.of_tokens()));
                }
                let layer = Convolution::of_tokens(output.channels, input, output, shape);
                return StepMethod::Convolution(Box::new(layer));
            }
            StepKernel::Tensor(_) => {
                let method = TensorMethod::new(fused, inputs, output, shape);
                return method.map_or(StepMethod::Candle, |m| StepMethod::Tensor(Box::new(m)));
            }
            _ => return StepMethod::Simple,
        };
        let winograd = Winograd::new(conv, input, output, shape).filter(|_| !entry);
        let quantized = Quantized::new(conv, input, output, target).filter(|_| !entry);
        if let Some(quantized) = quantized.filter(|q| winograd.is_none() || q.outruns_winograd()) {
            return StepMethod::Quantized(Box::new(quantized));
        }
        if let Some(winograd) = winograd {
            return StepMethod::Winograd(Box::new(winograd));
        }
        let convolution = Convolution::new(conv, input, output, entry, shape);
        StepMethod::Convolution(Box::new(convolution))
    }

    /// The method's name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            StepMethod::Simple => "pass",
            StepMethod::Convolution(c) => c.name(),
            StepMethod::Winograd(_) => "winograd",
            StepMethod::Quantized(_) => "int8",
            StepMethod::Reduced(_) => "bf16",
            StepMethod::Tensor(t) => t.name(),
            StepMethod::Candle => "candle",
        }
    }

    /// Floats of the step's weights as the method reads them.
    pub(crate) fn weight_floats(&self) -> usize {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => 0,
            StepMethod::Convolution(c) => c.weight_floats(),
            StepMethod::Quantized(q) => q.weight_floats(),
            StepMethod::Reduced(r) => r.weight_floats(),
            StepMethod::Winograd(w) => w.weight_floats(),
        }
    }

    /// Whether weights that are packed for one method are packed for the other.
    pub(crate) fn packs_as(&self, other: &StepMethod) -> bool {
        match (self, other) {
            (StepMethod::Simple, StepMethod::Simple)
            | (StepMethod::Tensor(_), StepMethod::Tensor(_)) => true,
            (StepMethod::Convolution(a), StepMethod::Convolution(b)) => a.packs_as(b),
            (StepMethod::Quantized(a), StepMethod::Quantized(b)) => a.packs_as(b),
            (StepMethod::Reduced(a), StepMethod::Reduced(b)) => a.packs_as(b),
            // A point's weights depend on the tiles, those of Candle on shapes.
            _ => false,
        }
    }

    /// The convolution it computes, or `None` if it computes none.
    pub(crate) fn conv(&self) -> Option<Conv2d> {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => None,
            StepMethod::Convolution(c) => Some(c.conv),
            StepMethod::Quantized(q) => Some(q.conv),
            StepMethod::Reduced(r) => Some(r.conv),
            StepMethod::Winograd(w) => Some(w.conv),
        }
    }

    /// Lays weights out; `packed` has [`StepMethod::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => {}
            StepMethod::Convolution(c) => c.pack(filters, packed),
            StepMethod::Quantized(q) => q.pack(filters, packed),
            StepMethod::Reduced(r) => r.pack(filters, packed),
            StepMethod::Winograd(w) => w.pack(filters, packed),
        }
    }

    /// Floats of zeros that the method reads for taps outside of an image.
    pub(crate) fn zeros(&self) -> usize {
        match self {
            StepMethod::Convolution(c) => c.zeros(),
            StepMethod::Reduced(r) => r.zeros(),
            _ => 0,
        }
    }
}

impl PlannedStep {
    /// Tasks of each phase; 0 where there is no such phase.
    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let mut phases = self.own_phases(samples, threads);
        if let Some(phase) = self.reducing_phase() {
            phases[phase] = self.reduced_pixels(samples, threads).tasks();
        }
        phases
    }

    /// Returns the phase that writes reduced numbers of floats, if the method does not write them.
    fn reducing_phase(&self) -> Option<usize> {
        let by_itself = match self.method {
            StepMethod::Winograd(_) | StepMethod::Tensor(_) | StepMethod::Candle => false,
            StepMethod::Quantized(_) => false,
            StepMethod::Convolution(_) | StepMethod::Reduced(_) | StepMethod::Simple => true,
        };
        (self.placed.reduced.output.is_some() && !by_itself).then_some(MAX_PHASES - 1)
    }

    /// Divides the pixels whose reduced numbers are written.
    fn reduced_pixels(&self, samples: usize, threads: usize) -> Split {
        let to = self.placed.output;
        Split::new(samples * to.pixels(), REDUCED / to.channels.max(1), threads)
    }

    fn own_phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        match &self.method {
            StepMethod::Convolution(c) => c.phases(samples, threads),
            StepMethod::Quantized(q) => q.phases(samples, threads),
            StepMethod::Reduced(r) => r.phases(samples, threads),
            StepMethod::Winograd(w) => w.phases(samples, threads),
            StepMethod::Simple => {
                let tasks = task::pixels(&self.placed, samples, threads).tasks();
                [tasks, 0, 0, 0]
            }
            StepMethod::Tensor(t) => t.phases(samples, threads),
            StepMethod::Candle => [1, 0, 0, 0],
        }
    }

    /// Scratch for up to `samples` on up to `threads`.
    pub(crate) fn scratch(&self, samples: usize, threads: usize) -> Scratch {
        match &self.method {
            StepMethod::Convolution(c) => c.scratch(samples, self.placed.has_floats()),
            StepMethod::Quantized(q) => q.scratch(samples),
            StepMethod::Reduced(r) => r.scratch(samples),
            StepMethod::Winograd(w) => w.scratch(samples, threads),
            StepMethod::Tensor(t) => t.scratch(),
            StepMethod::Simple if !self.placed.has_floats() => Scratch {
                own: chunk(&self.placed) * self.placed.output.channels,
                ..Scratch::default()
            },
            StepMethod::Simple | StepMethod::Candle => Scratch::default(),
        }
    }

    /// Runs task `task` of phase `phase`.
    ///
    /// # Safety
    /// The call is of this step; its family is available, its memory has room for
    /// `samples` and the step's scratch; the phases before are done, each task of this one
    /// runs once, and nothing else uses the memory.
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: handed on.
        unsafe {
            if self.reducing_phase() == Some(phase) {
                let pixels = self.reduced_pixels(call.samples, call.threads).range(task);
                return reduced::reduce_pixels(call, pixels);
            }
            match &self.method {
                StepMethod::Reduced(r) => r.run(call, task),
                StepMethod::Convolution(c) => c.run(call, phase, task),
                StepMethod::Quantized(q) => q.run(call, phase, task),
                StepMethod::Winograd(w) => w.run(call, phase, task),
                StepMethod::Simple => simple(call, task),
                StepMethod::Tensor(t) => t.run(call, phase, task),
                StepMethod::Candle => candle(call),
            }
        }
    }
}

/// The least floats of a task that writes reduced numbers.
const REDUCED: usize = 8 * 1024;

/// Returns the pixels whose floats are reduced at a time, so that they stay in the nearest cache.
fn chunk(step: &PlacedStep) -> usize {
    (REDUCED / 2 / step.output.channels.max(1)).max(1)
}

/// Steps that go through their output pixel by pixel.
///
/// # Safety
/// As for [`PlannedStep::run`].
unsafe fn simple(call: &Call<'_>, task: usize) {
    let step = call.step;
    let pixels = task::pixels(step, call.samples, call.threads).range(task);
    // SAFETY: tasks have disjoint pixels.
    unsafe {
        let outputs = TileOutputs::of(call, pixels.clone());
        match outputs.reduced() {
            None => pass(call, call.memory.part(step.output, pixels)),
            Some(_) if step.fused.kernel == StepKernel::Concat => joined(call, &outputs, pixels),
            Some(_) => {
                let each = chunk(step);
                for first in pixels.clone().step_by(each) {
                    reduced_pass(call, &outputs, first..pixels.end.min(first + each));
                }
            }
        }
    }
}

/// Computes pixels and writes them as reduced numbers, and as floats where these are kept.
///
/// # Safety
/// As for [`PlannedStep::run`]; the task alone writes these pixels.
unsafe fn reduced_pass(call: &Call<'_>, outputs: &TileOutputs<'_>, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: each thread has scratch of its own; the rest is handed on.
    unsafe {
        if !outputs.is_reduced_alone() {
            pass(call, call.memory.part(step.output, pixels.clone()));
            return reduced::reduce_pixels(call, pixels);
        }
        let scratch = call.memory.floats_mut(call.memory.own(call.thread));
        let rows = TileRows {
            start: scratch.as_mut_ptr(),
            stride: step.output.channels,
            rows: pixels.len(),
            columns: step.output.channels,
        };
        let first = pixels.start;
        pass(call, OutputPixels::dense(scratch, step.output, pixels));
        outputs.reduce((first, 0), rows);
    }
}

/// Joins values, as floats and as reduced numbers.
///
/// # Safety
/// As for [`reduced_pass`].
unsafe fn joined(call: &Call<'_>, outputs: &TileOutputs<'_>, pixels: Range<usize>) {
    let step = call.step;
    // SAFETY: handed on.
    unsafe {
        if !outputs.is_reduced_alone() {
            pass(call, call.memory.part(step.output, pixels.clone()));
        }
        match step.reduced.inputs.iter().all(Option::is_some) {
            true => reduced::join(call, pixels),
            false => reduced::reduce_pixels(call, pixels),
        }
    }
}

/// Computes the pixels of `out`.
///
/// # Safety
/// As for [`PlannedStep::run`].
unsafe fn pass(call: &Call<'_>, out: OutputPixels<'_>) {
    let step = call.step;
    let source = |view: TensorView| {
        // SAFETY: a step never reads the slot that it writes.
        unsafe { call.memory.source(view) }
    };
    let inputs: Vec<InputPixels<'_>> = step.inputs.iter().map(|&v| source(v)).collect();
    let pass = Pass {
        step,
        // SAFETY: the family is available.
        rows: unsafe { RowActivation::new(call.family, step.fused.activation) },
        weights: call.weights,
        inputs: &inputs,
        residual: step.residual.map(source),
        out,
    };
    // SAFETY: the family is available, and the pass asks for nothing else.
    unsafe { vector::dispatch(call.family, pass) }
}

/// A step that Candle runs, for all samples together. Where that fails, on an index outside of
/// its table for one, the answer is NaN, which fails the requests that it is for.
///
/// # Safety
/// As for [`PlannedStep::run`].
unsafe fn candle(call: &Call<'_>) {
    let step = call.step;
    let Some(node) = &call.weights.candle else {
        return;
    };
    let inputs = step.inputs.iter().map(|&view| {
        // SAFETY: a step never reads the slot that it writes.
        let source = unsafe { call.memory.source(view) };
        source.dense(call.samples)
    });
    let answer = node.run(call.samples, inputs.collect()).ok();
    let pixels = 0..call.samples * step.output.pixels();
    // SAFETY: the step has a single task.
    let mut out = unsafe { call.memory.part(step.output, pixels) };
    for pixel in out.pixels.clone() {
        let row = out.row(pixel);
        let values = answer
            .as_ref()
            .and_then(|a| a.chunks_exact(row.len()).nth(pixel));
        match values {
            Some(values) => row.copy_from_slice(values),
            None => row.fill(f32::NAN),
        }
    }
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
            StepKernel::Convolution(_) | StepKernel::Linear | StepKernel::Tensor(_) => {}
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
            StepKernel::Softmax => {
                // SAFETY: as above.
                unsafe { norms::softmax::<V>(input, &mut out) };
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
