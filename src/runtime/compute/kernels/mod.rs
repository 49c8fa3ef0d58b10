//! The loops. Channels-last; operands are views into one arena.
//!
//! A step runs in phases, a phase in tasks that may run at once, on any threads.
//!
//! | method | for | how |
//! |---|---|---|
//! | `convolution` | everything else, fully connected layers too | a tile of a few pixels × up to four vectors of channels stays in registers over all taps; its rows are read in place through a table of offsets, with zeros for what lies outside of the image; bias, residual and activation are applied as the tile is stored |
//! | the same, prepared | first layers, which have few input channels | the input is copied once into padded lines, turned from channels-first on the way, so that a line of the window is one run of floats |
//! | `narrow` | depthwise convolutions, groups of 4 or 8 channels | a vector of outputs reads the same channels of its input, each lane its own group's |
//! | `winograd` | stride 1, windows of 3, 5, 7 and 1×3 … 7×1, where it is expected to win | F(2), F(4) or F(6) a side with 4, 6 or 8 points; a task takes a run of tiles through transform, product and back in cache, or all threads do each together where there are few tiles |
//! | a simple pass | pools, norms alone, resizes, softmax | plain loops |
//!
//! Kernels are written once over the trait `Vector` and compiled for AVX-512, AVX2 with FMA, NEON
//! and plain arrays; `Family::best` picks at run time. They are `#[inline(always)]` without
//! closures inside one function for each family, which turns its instructions on: what is not
//! inlined there would call a function for every instruction.
//!
//! The product is our own and not the `gemm` crate's, since rows come through offsets, the right
//! side is packed at load, and the end of a step is applied in registers; a general product
//! offers none of these.

mod convolution;
mod elementwise;
mod memory;
mod narrow;
mod panels;
mod pooling;
mod split;
mod tile;
mod upscale;
mod vector;
#[allow(
    clippy::needless_range_loop,
    reason = "rows and columns of tiles, by their numbers"
)]
mod winograd;

pub(super) use convolution::{Convolution, Filters};
pub(super) use memory::{BatchMemory, Buffer, LINE};
pub(super) use panels::TileShape;
pub(super) use winograd::Winograd;

use memory::{InputPixels, OutputPixels};
use vector::{Vector, Vectorised};

use super::family::Family;
use super::fold::StepWeights;
use super::fuse::StepKernel;
use super::plan::{PlannedStep, StepMethod};
use super::view::TensorView;

/// Scratch of a step, in floats but for `offsets`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scratch {
    /// For each thread.
    pub own: usize,
    /// For all threads together.
    pub shared: usize,
    /// Row offsets for each thread.
    pub offsets: usize,
}

/// One task of one step.
pub(super) struct Call<'a> {
    pub step: &'a PlannedStep,
    pub weights: &'a StepWeights,
    pub family: Family,
    pub memory: BatchMemory<'a>,
    pub samples: usize,
    pub threads: usize,
    /// The thread that runs it, for its scratch.
    pub thread: usize,
    /// That thread's row offsets.
    pub offsets: &'a mut Vec<usize>,
}

/// Most phases of a step.
pub(super) const MAX_PHASES: usize = 3;

/// Tasks of each phase of `step`; 0 where there is no such phase.
pub(super) fn phases(step: &PlannedStep, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
    match &step.method {
        StepMethod::Convolution(c) => c.phases(samples, threads),
        StepMethod::Winograd(w) => w.phases(samples, threads),
        StepMethod::Simple => [split::pixels(step, samples, threads).tasks(), 0, 0],
    }
}

/// Scratch that `step` needs for up to `samples` on up to `threads`.
pub(super) fn scratch(step: &PlannedStep, samples: usize, threads: usize) -> Scratch {
    match &step.method {
        StepMethod::Convolution(c) => c.scratch(samples),
        StepMethod::Winograd(w) => w.scratch(samples, threads),
        StepMethod::Simple => Scratch::default(),
    }
}

/// Runs task `task` of phase `phase`.
///
/// # Safety
/// The call's family is available, its memory has room for `samples` and the step's
/// scratch; the phases before are done, each task of this one runs once, and nothing else
/// uses the memory.
pub(super) unsafe fn run(call: &mut Call<'_>, phase: usize, task: usize) {
    // SAFETY: handed on.
    unsafe {
        match &call.step.method {
            StepMethod::Convolution(c) => c.run(call, phase, task),
            StepMethod::Winograd(w) => w.run(call, phase, task),
            StepMethod::Simple => simple(call, task),
        }
    }
}

/// Steps that go through their output pixel by pixel.
///
/// # Safety
/// As [`run`].
unsafe fn simple(call: &Call<'_>, task: usize) {
    let step = call.step;
    let pixels = split::pixels(step, call.samples, call.threads).range(task);
    let source = |view: TensorView| {
        // SAFETY: a step never reads the slot that it writes.
        unsafe { call.memory.source(view) }
    };
    let inputs: Vec<InputPixels<'_>> = step.inputs.iter().map(|&v| source(v)).collect();
    let pass = Pass {
        step,
        weights: call.weights,
        inputs: &inputs,
        residual: step.residual.map(source),
        // SAFETY: tasks have disjoint pixels.
        out: unsafe { call.memory.part(step.output, pixels) },
    };
    // SAFETY: the family is available; the pass is written in safe code.
    unsafe { vector::dispatch(call.family, pass) }
}

/// A pass over pixels. Its loops are plain; the dispatch lets the compiler vectorise
/// them for the processor at hand.
struct Pass<'a> {
    step: &'a PlannedStep,
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
            weights,
            inputs,
            residual,
            mut out,
        } = self;
        let end = elementwise::Epilogue {
            residual,
            activation: step.fused.activation,
        };
        let (input, to) = (inputs[0], step.output);
        match step.fused.kernel {
            StepKernel::Convolution(_) | StepKernel::Linear => {}
            StepKernel::ScaleShift => elementwise::scale_shift(weights, input, &end, &mut out),
            StepKernel::Copy => elementwise::copy(input, &end, &mut out),
            StepKernel::Enter => elementwise::enter(input, &mut out),
            StepKernel::Flatten => elementwise::flatten(input, &mut out),
            StepKernel::Softmax => elementwise::softmax(input, &mut out),
            StepKernel::Concat => elementwise::concat(inputs, to, &mut out),
            StepKernel::MaxPool(pool) => pooling::max(pool, input, to, &mut out),
            StepKernel::AvgPool(pool) => pooling::average(pool, input, to, &mut out),
            StepKernel::GlobalAvgPool => pooling::global(input, &mut out),
            StepKernel::AdaptiveAvgPool => pooling::adaptive(input, to, &mut out),
            StepKernel::Upscale => upscale::bilinear(input, to, &mut out),
        }
    }
}
