//! Planned steps: their operands, and the methods that compute them.

use super::candle;
use super::choice::{StepReads, convolution_of, depthwise_bytes};
use super::convolution::Convolution;
use super::panels::Filters;
use super::pass;
use super::quantized::{Quantized, RangedBytes};
use super::quantized_depthwise::QuantizedDepthwise;
use super::reduced::{self, ReducedProduct};
use super::target::KernelTarget;
use super::task::{self, Call, MAX_PHASES, PlacedStep, ReducedOperands, Scratch, Split};
use super::tensors::TensorMethod;
use super::winograd::Winograd;
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::network::Conv2d;

/// The least floats of a task that writes reduced numbers.
const GRAIN: usize = 8 * 1024;

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
    /// One product over rows that are read in place.
    Convolution(Box<Convolution>),
    /// One product in int8.
    Quantized(Box<Quantized>),
    /// Values rounded to bytes by their range in a sample.
    Ranged(Box<RangedBytes>),
    /// One product over rows of reduced numbers.
    Reduced(Box<ReducedProduct>),
    /// A depthwise convolution of bytes.
    Depthwise(Box<QuantizedDepthwise>),
    /// Winograd's algorithm.
    Winograd(Box<Winograd>),
    /// An operation on tensors of any rank.
    Tensor(Box<TensorMethod>),
    /// Candle's operations, for operations without a kernel.
    Candle,
}

impl StepMethod {
    /// Chooses the method for a step.
    pub(crate) fn new(
        fused: &FusedStep,
        inputs: &[TensorView],
        reduced: &ReducedOperands,
        output: TensorView,
        reads: StepReads,
        target: KernelTarget,
    ) -> Self {
        let (input, shape, entry) = (inputs[0], target.shape, reads == StepReads::Entry);
        let first = reduced.inputs.first().copied().flatten();
        if let Some(input) = first.filter(|_| reads == StepReads::Reduced)
            && let Some(conv) = convolution_of(fused, output)
        {
            let correction = reduced.correction.clone();
            if let Some(numbers) = depthwise_bytes(fused, input, output, target) {
                let depthwise = QuantizedDepthwise::new(conv, input, numbers, output, correction);
                return StepMethod::Depthwise(Box::new(depthwise));
            }
            let product = ReducedProduct::new(conv, input, output, target.family);
            let product = product.corrected(correction);
            let product = product.shifted(fused.shift().is_some());
            return StepMethod::Reduced(Box::new(match fused.kernel {
                StepKernel::Linear => product.of_tokens(),
                _ => product,
            }));
        }
        if let (StepReads::Reducing(numbers, entry), Some(conv)) =
            (reads, convolution_of(fused, output))
        {
            let family = target.family;
            let product = ReducedProduct::prepared(conv, input, numbers, entry, output, family);
            let product = product.corrected(reduced.correction.clone());
            return StepMethod::Reduced(Box::new(product));
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
            StepKernel::RangedBytes => {
                return StepMethod::Ranged(Box::new(RangedBytes::new(input, output)));
            }
            StepKernel::RangedLinear { inputs } => {
                let layer = Quantized::of_ranged(inputs, input, output, target);
                return StepMethod::Quantized(Box::new(layer));
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
        let mut convolution = Convolution::new(conv, input, output, entry, shape);
        if let Some(numbers) = first.filter(|_| input.place == ValuePlace::Nowhere) {
            convolution = convolution.of_reduced(numbers);
        }
        StepMethod::Convolution(Box::new(convolution))
    }

    /// The method's name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            StepMethod::Simple => "pass",
            StepMethod::Convolution(c) => c.name(),
            StepMethod::Winograd(_) => "winograd",
            StepMethod::Quantized(q) => q.name(),
            StepMethod::Ranged(_) => "ranges",
            StepMethod::Reduced(r) => r.kernel().name(),
            StepMethod::Depthwise(_) => "depthwise, int8",
            StepMethod::Tensor(t) => t.name(),
            StepMethod::Candle => "candle",
        }
    }

    /// Floats of the step's weights as the method reads them.
    pub(crate) fn weight_floats(&self) -> usize {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => 0,
            StepMethod::Ranged(_) => 0,
            StepMethod::Convolution(c) => c.weight_floats(),
            StepMethod::Quantized(q) => q.weight_floats(),
            StepMethod::Reduced(r) => r.weight_floats(),
            StepMethod::Depthwise(d) => d.weight_floats(),
            StepMethod::Winograd(w) => w.weight_floats(),
        }
    }

    /// Returns whether weights packed for one method are also packed for the other.
    pub(crate) fn packs_as(&self, other: &StepMethod) -> bool {
        match (self, other) {
            (StepMethod::Simple, StepMethod::Simple)
            | (StepMethod::Ranged(_), StepMethod::Ranged(_))
            | (StepMethod::Tensor(_), StepMethod::Tensor(_)) => true,
            (StepMethod::Convolution(a), StepMethod::Convolution(b)) => a.packs_as(b),
            (StepMethod::Quantized(a), StepMethod::Quantized(b)) => a.packs_as(b),
            (StepMethod::Reduced(a), StepMethod::Reduced(b)) => a.packs_as(b),
            (StepMethod::Depthwise(a), StepMethod::Depthwise(b)) => a.packs_as(b),
            // Weights of a Winograd point depend on the tiles, weights for Candle on shapes.
            _ => false,
        }
    }

    /// Returns the convolution it computes, or `None` if it computes none.
    pub(crate) fn conv(&self) -> Option<Conv2d> {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => None,
            StepMethod::Ranged(_) => None,
            StepMethod::Convolution(c) => Some(c.conv),
            StepMethod::Quantized(q) => Some(q.conv),
            StepMethod::Reduced(r) => Some(r.conv),
            StepMethod::Depthwise(d) => Some(d.conv),
            StepMethod::Winograd(w) => Some(w.conv),
        }
    }

    /// Returns the numbers that are added to the bias of each output channel, before a norm is folded
    /// into it.
    pub(crate) fn correction(&self) -> Option<&[f32]> {
        match self {
            StepMethod::Reduced(r) => r.correction(),
            StepMethod::Depthwise(d) => d.correction(),
            _ => None,
        }
    }

    /// Lays weights out; `packed` has [`StepMethod::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self {
            StepMethod::Simple | StepMethod::Tensor(_) | StepMethod::Candle => {}
            StepMethod::Ranged(_) => {}
            StepMethod::Convolution(c) => c.pack(filters, packed),
            StepMethod::Quantized(q) => q.pack(filters, packed),
            StepMethod::Reduced(r) => r.pack(filters, packed),
            StepMethod::Depthwise(d) => d.pack(filters, packed),
            StepMethod::Winograd(w) => w.pack(filters, packed),
        }
    }

    /// Returns whether a faster kernel is exact for packed weights, whose sums of two products fit
    /// into 16 bits.
    pub(crate) fn fits_pairs(&self, packed: &[f32]) -> bool {
        match self {
            StepMethod::Quantized(q) => q.fits_pairs(packed),
            StepMethod::Reduced(r) => r.fits_pairs(packed),
            _ => false,
        }
    }

    /// Lays out the constants added after a rounding; `packed` is that of [`StepMethod::pack`].
    pub(crate) fn pack_shift(&self, values: &[f32], packed: &mut [f32]) {
        if let StepMethod::Reduced(product) = self {
            product.pack_shift(values, packed);
        }
    }

    /// Bytes other than zeros that the method reads for taps outside of an image, and floats of them.
    pub(crate) fn border(&self) -> Option<(u8, usize)> {
        match self {
            StepMethod::Reduced(r) => r.border(),
            StepMethod::Depthwise(d) => Some(d.border()),
            StepMethod::Convolution(c) => c.border(),
            _ => None,
        }
        .filter(|(byte, _)| *byte != 0)
    }

    /// Floats of zeros that the method reads for taps outside of an image.
    pub(crate) fn zeros(&self) -> usize {
        let border = match self {
            StepMethod::Convolution(c) => return c.zeros(),
            StepMethod::Reduced(r) => match r.border() {
                Some(border) => border,
                None => return 0,
            },
            StepMethod::Depthwise(d) => d.border(),
            _ => return 0,
        };
        match border {
            (0, floats) => floats,
            _ => 0,
        }
    }
}

impl PlannedStep {
    /// Returns the tasks of each phase; 0 for phases that do not exist.
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
            StepMethod::Quantized(_) | StepMethod::Ranged(_) => false,
            StepMethod::Convolution(_) | StepMethod::Reduced(_) => true,
            StepMethod::Depthwise(_) | StepMethod::Simple => true,
        };
        (self.placed.reduced.output.is_some() && !by_itself).then_some(MAX_PHASES - 1)
    }

    /// Divides the pixels whose reduced numbers are written.
    fn reduced_pixels(&self, samples: usize, threads: usize) -> Split {
        let to = self.placed.output;
        Split::new(samples * to.pixels(), GRAIN / to.channels.max(1), threads)
    }

    fn own_phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        match &self.method {
            StepMethod::Convolution(c) => c.phases(samples, threads),
            StepMethod::Quantized(q) => q.phases(samples, threads),
            StepMethod::Ranged(r) => r.phases(samples, threads),
            StepMethod::Reduced(r) => r.phases(samples, threads),
            StepMethod::Depthwise(d) => d.phases(samples, threads),
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
            StepMethod::Ranged(r) => r.scratch(samples),
            StepMethod::Reduced(r) => r.scratch(samples),
            StepMethod::Depthwise(d) => d.scratch(),
            StepMethod::Winograd(w) => w.scratch(samples, threads),
            StepMethod::Tensor(t) => t.scratch(),
            StepMethod::Simple => Scratch {
                own: pass::scratch(&self.placed),
                ..Scratch::default()
            },
            StepMethod::Candle => Scratch::default(),
        }
    }

    /// Runs task `task` of phase `phase`.
    ///
    /// # Safety
    /// The call is of this step; its family is available, its memory has room for `samples` and the
    /// step's scratch; the earlier phases are done, each task of this phase runs once, and nothing
    /// else uses the memory.
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.reducing_phase() == Some(phase) {
                let pixels = self.reduced_pixels(call.samples, call.threads).range(task);
                return reduced::reduce_pixels(call, pixels);
            }
            match &self.method {
                StepMethod::Reduced(r) => r.run(call, phase, task),
                StepMethod::Depthwise(d) => d.run(call, task),
                StepMethod::Convolution(c) => c.run(call, phase, task),
                StepMethod::Quantized(q) => q.run(call, phase, task),
                StepMethod::Ranged(r) => r.run(call, phase, task),
                StepMethod::Winograd(w) => w.run(call, phase, task),
                StepMethod::Simple => pass::run(call, task),
                StepMethod::Tensor(t) => t.run(call, phase, task),
                StepMethod::Candle => candle::run(call),
            }
        }
    }
}
