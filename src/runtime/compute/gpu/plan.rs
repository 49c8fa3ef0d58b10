//! The plan of a network for a GPU: fused steps, with each operand placed in an arena.
//!
//! Fusion and places of values are those of the processor's plan (`compute::fuse`,
//! `compute::buffers`): channels-last, with concatenations in place. Here every step runs the
//! whole batch, samples enter by a step of their own, and the answer leaves as float32.

use crate::compute::ComputeError;
use crate::compute::buffers::{Slots, TensorView, ValueBuffers, ValuePlace};
use crate::compute::fuse::{FusedStep, Pairing, StepKernel, ValueId, fuse};
use crate::compute::plan::turn;
use crate::network::{Activation, Conv2d, Graph, Op, Pool, ResponseNorm, Shape};

use super::program::Precision;

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compute) enum GpuOp {
    /// Samples of float32, channels-first, into channels-last; channels up to `padded`
    /// are zeros.
    Enter {
        channels: usize,
        padded: usize,
    },
    /// A convolution over all channels, or a fully connected layer (1×1).
    Dense(Conv2d),
    /// A convolution of each channel by itself.
    Depthwise(Conv2d),
    /// A convolution in groups of channels.
    Grouped(Conv2d),
    /// Scale, shift, sum, activation, or a copy.
    Pointwise,
    MaxPool(Pool),
    MeanPool(Pool),
    /// Means over regions that cover the image.
    Regions,
    Resize,
    /// An image as a vector, channels slowest.
    Flatten,
    /// Two values, of which one may be a row for each sample.
    Paired(Pairing),
    /// Channels of as many groups, interleaved.
    Shuffle(usize),
    ResponseNorm(ResponseNorm),
    /// A norm across channels, with this added to the variance.
    LayerNorm(f32),
    Softmax,
    /// Softmax as the network's answer.
    SoftmaxAnswer,
    /// The answer as float32, channels slowest.
    Answer,
    /// A step that is not run on GPUs; networks that have one are refused before.
    Unsupported,
}

/// A step. The output of a step that writes the answer is its input's view.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::compute) struct GpuStep {
    pub op: GpuOp,
    pub input: TensorView,
    /// The other operand of a sum or product.
    pub other: Option<TensorView>,
    pub residual: Option<TensorView>,
    pub output: TensorView,
    pub activation: Option<Activation>,
    /// The fused step whose weights it uses, or `None` if it uses none.
    pub weights: Option<FusedStep>,
}

/// The steps of one network, for batches of any size.
#[derive(Clone, Debug)]
pub(in crate::compute) struct GpuPlan {
    pub steps: Vec<GpuStep>,
    /// Values of a row of each slot of the arena.
    pub slots: Vec<usize>,
    /// Values of a row of the buffer that samples enter by; 0 if that is a slot.
    pub entry: usize,
    /// Values of a row of the largest matrix of windows that a convolution may gather.
    pub windows: usize,
    pub precision: Precision,
    /// Floats of a sample and of an answer.
    pub inputs: usize,
    pub outputs: usize,
}

/// The buffer that samples enter by, the only one with padded channels.
pub(in crate::compute) const ENTRY: ValuePlace = ValuePlace::Shared;

impl GpuPlan {
    /// Plans `graph` for `precision`.
    pub(crate) fn new(graph: &Graph, precision: Precision) -> Self {
        let mut fused = fuse(graph);
        turn(graph, &mut fused);
        let answer = graph.nodes().len();
        let buffers = ValueBuffers::new(graph, &fused);
        let slots = Slots::assign(&buffers, &fused, answer, 0);
        let mut places = Places::new(&buffers, &slots);
        if let Some(padded) = entry_padding(graph, &fused, precision) {
            places.pad_entry(answer + 1, padded);
        }
        let mut steps: Vec<GpuStep> = fused.iter().flat_map(|s| lower(s, &places)).collect();
        leave(&mut steps, places.view(answer));
        GpuPlan {
            entry: places.entry.map_or(0, |(_, view)| view.sample_stride()),
            windows: steps.iter().map(windows).max().unwrap_or(0),
            steps,
            slots: slots.sizes,
            precision,
            inputs: graph.input().elements(),
            outputs: graph.output().elements(),
        }
    }
}

/// Checks that GPUs run every operation of `graph`.
///
/// # Errors
/// [`ComputeError::NotOnGpu`], with all layers that they do not run.
pub(super) fn check(graph: &Graph) -> Result<(), ComputeError> {
    let tensor = |shape: Shape| matches!(shape, Shape::Tensor(_));
    let foreign = graph.nodes().iter();
    let foreign = foreign.filter(|n| tensor(n.shape) || matches!(n.op, Op::Tensor(_)));
    let layers: Vec<String> = foreign.map(|n| n.name.clone()).collect();
    match layers.is_empty() {
        true => Ok(()),
        false => Err(ComputeError::NotOnGpu { layers }),
    }
}

/// Returns the values of a row of a convolution's windows, one after another.
fn windows(step: &GpuStep) -> usize {
    match step.op {
        GpuOp::Dense(conv) if conv.kernel.area() > 1 || conv.stride > 1 => {
            step.output.pixels() * conv.kernel.area() * step.input.channels
        }
        _ => 0,
    }
}

/// The places of values, with the padding of the entry.
struct Places<'a> {
    buffers: &'a ValueBuffers,
    slots: &'a Slots,
    entry: Option<(ValueId, TensorView)>,
}

impl<'a> Places<'a> {
    fn new(buffers: &'a ValueBuffers, slots: &'a Slots) -> Self {
        Places {
            buffers,
            slots,
            entry: None,
        }
    }

    fn pad_entry(&mut self, value: ValueId, padded: usize) {
        let view = self.view(value);
        let padded = TensorView {
            place: ENTRY,
            first: 0,
            channels: padded,
            pitch: padded,
            ..view
        };
        self.entry = Some((value, padded));
    }

    fn view(&self, value: ValueId) -> TensorView {
        match self.entry {
            Some((entry, view)) if entry == value => view,
            _ => self.buffers.view(self.slots, value),
        }
    }
}

/// Returns the number of channels that samples are padded to, since tensor cores take 16 bytes
/// at a time; `None` if others than dense convolutions read them, or no padding is needed.
fn entry_padding(graph: &Graph, steps: &[FusedStep], precision: Precision) -> Option<usize> {
    let Shape::Image { channels, .. } = graph.input() else {
        return None;
    };
    let entered = graph.nodes().len() + 1;
    let mut readers = steps.iter().filter(|s| s.reads().any(|v| v == entered));
    let dense = |s: &FusedStep| {
        s.residual != Some(entered)
            && matches!(s.kernel, StepKernel::Convolution(conv) if conv.groups == 1)
    };
    let unit = 16 / precision.bytes();
    (readers.all(dense) && !channels.is_multiple_of(unit)).then(|| channels.next_multiple_of(unit))
}

fn lower(step: &FusedStep, places: &Places<'_>) -> Vec<GpuStep> {
    if step.kernel == StepKernel::Concat {
        return concat(step, places);
    }
    let output = places.view(step.output);
    let input = match step.kernel {
        // The step's number of channels describes the samples.
        StepKernel::Enter => output,
        StepKernel::Channels(first) => places.view(step.inputs[0]).part(first, output.channels),
        _ => places.view(step.inputs[0]),
    };
    let other = match step.kernel {
        StepKernel::Paired(_) => step.inputs.get(1).map(|&v| places.view(v)),
        _ => None,
    };
    // The image comes first.
    let (input, other) = match other {
        Some(other) if input.pixels() < output.pixels() => (other, Some(input)),
        _ => (input, other),
    };
    let weighted = step.weights.is_some() || step.norm.is_some();
    vec![GpuStep {
        op: operation(step, input, output, places),
        input,
        other,
        residual: step.residual.map(|v| places.view(v)),
        output,
        activation: step.activation,
        weights: (weighted || step.kernel == StepKernel::ScaleShift).then(|| step.clone()),
    }]
}

fn operation(
    step: &FusedStep,
    input: TensorView,
    output: TensorView,
    places: &Places<'_>,
) -> GpuOp {
    match step.kernel {
        StepKernel::Enter => GpuOp::Enter {
            channels: places.buffers.view(places.slots, step.output).channels,
            padded: output.channels,
        },
        StepKernel::Convolution(conv) => convolution(conv, input),
        StepKernel::Linear => GpuOp::Dense(Conv2d::new(output.channels, 1)),
        // A concatenation is lowered part by part.
        StepKernel::ScaleShift
        | StepKernel::Copy
        | StepKernel::Channels(_)
        | StepKernel::Concat => GpuOp::Pointwise,
        StepKernel::Paired(pairing) => GpuOp::Paired(pairing),
        StepKernel::ChannelShuffle(groups) => GpuOp::Shuffle(groups),
        StepKernel::LocalResponseNorm(norm) => GpuOp::ResponseNorm(norm),
        StepKernel::LayerNorm(eps) => GpuOp::LayerNorm(eps),
        StepKernel::MaxPool(pool) => GpuOp::MaxPool(pool),
        StepKernel::AvgPool(pool) => GpuOp::MeanPool(pool),
        StepKernel::GlobalAvgPool | StepKernel::AdaptiveAvgPool => GpuOp::Regions,
        StepKernel::Upscale => GpuOp::Resize,
        StepKernel::Flatten => GpuOp::Flatten,
        StepKernel::Softmax => GpuOp::Softmax,
        StepKernel::Tensor(_) => GpuOp::Unsupported,
    }
}

fn convolution(conv: Conv2d, input: TensorView) -> GpuOp {
    match conv.groups {
        1 => GpuOp::Dense(conv),
        groups if groups == input.channels && groups == conv.channels => GpuOp::Depthwise(conv),
        _ => GpuOp::Grouped(conv),
    }
}

/// Returns copies of the inputs of a concatenation that do not lie in its place already.
fn concat(step: &FusedStep, places: &Places<'_>) -> Vec<GpuStep> {
    let whole = places.view(step.output);
    let mut first = whole.first;
    let mut copies = Vec::new();
    for &input in &step.inputs {
        let from = places.view(input);
        let to = TensorView {
            first,
            channels: from.channels,
            ..whole
        };
        first += from.channels;
        if from != to {
            copies.push(GpuStep {
                op: GpuOp::Pointwise,
                input: from,
                other: None,
                residual: None,
                output: to,
                activation: None,
                weights: None,
            });
        }
    }
    copies
}

/// Makes the last softmax write the answer, or adds a step that does.
fn leave(steps: &mut Vec<GpuStep>, answer: TensorView) {
    match steps.last_mut() {
        Some(last) if last.op == GpuOp::Softmax && last.output == answer => {
            last.op = GpuOp::SoftmaxAnswer;
            last.output = last.input;
        }
        _ => steps.push(GpuStep {
            op: GpuOp::Answer,
            input: answer,
            other: None,
            residual: None,
            output: answer,
            activation: None,
            weights: None,
        }),
    }
}
