//! A graph as the steps that a GPU runs: fused, each operand placed in an arena.
//!
//! The fusion and the places of values are those of the processor's plan
//! (`compute::fuse`, `compute::buffers`): channels-last, concatenations written in place.
//! What differs is that every step runs the whole batch, that samples enter by a step of
//! their own, and that the answer leaves as float32.

use crate::compute::buffers::{Slots, TensorView, ValueBuffers, ValuePlace};
use crate::compute::fuse::{FusedStep, StepKernel, ValueId, fuse};
use crate::compute::plan::turn;
use crate::network::{Activation, Conv2d, Graph, Pool, Shape};

use super::program::Precision;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::compute) enum GpuOp {
    /// Samples of float32, channels-first, into channels-last; channels up to `padded`
    /// are zeros.
    Enter {
        channels: usize,
        padded: usize,
    },
    /// A convolution that sees all channels, or a fully connected layer (1×1).
    Dense(Conv2d),
    /// Each channel by itself.
    Depthwise(Conv2d),
    /// Channels in groups.
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
    Softmax,
    /// Softmax as the network's answer.
    SoftmaxAnswer,
    /// The answer as float32, channels slowest.
    Answer,
}

/// One step. A step that writes the answer has its input's view as output.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::compute) struct GpuStep {
    pub op: GpuOp,
    pub input: TensorView,
    pub residual: Option<TensorView>,
    pub output: TensorView,
    pub activation: Option<Activation>,
    /// The fused step whose weights it uses, if it uses any.
    pub weights: Option<FusedStep>,
}

/// All steps of one network, for any batch.
#[derive(Clone, Debug)]
pub(in crate::compute) struct GpuPlan {
    pub steps: Vec<GpuStep>,
    /// Values a row of each slot of the arena.
    pub slots: Vec<usize>,
    /// Values a row of the buffer that samples enter by, where it is not a slot.
    pub entry: usize,
    /// Values a row of the largest matrix of windows that a convolution may gather.
    pub windows: usize,
    pub precision: Precision,
    /// Floats of a sample and of an answer.
    pub inputs: usize,
    pub outputs: usize,
}

/// The buffer that samples enter by: padded channels lie nowhere else.
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

/// Values a row of a convolution's windows, one after another.
fn windows(step: &GpuStep) -> usize {
    match step.op {
        GpuOp::Dense(conv) if conv.kernel.area() > 1 || conv.stride > 1 => {
            step.output.pixels() * conv.kernel.area() * step.input.channels
        }
        _ => 0,
    }
}

/// Where values lie, the entry's padding considered.
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

/// Channels that the samples' are padded to, where only convolutions that see all of
/// them read them: tensor cores take 16 bytes at a time.
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
    let input = match step.kernel {
        // What the samples are is told by the step's number of channels.
        StepKernel::Enter => places.view(step.output),
        _ => places.view(step.inputs[0]),
    };
    let output = places.view(step.output);
    let weighted = step.weights.is_some() || step.norm.is_some();
    vec![GpuStep {
        op: operation(step, input, output, places),
        input,
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
        StepKernel::ScaleShift | StepKernel::Copy | StepKernel::Concat => GpuOp::Pointwise,
        StepKernel::MaxPool(pool) => GpuOp::MaxPool(pool),
        StepKernel::AvgPool(pool) => GpuOp::MeanPool(pool),
        StepKernel::GlobalAvgPool | StepKernel::AdaptiveAvgPool => GpuOp::Regions,
        StepKernel::Upscale => GpuOp::Resize,
        StepKernel::Flatten => GpuOp::Flatten,
        StepKernel::Softmax => GpuOp::Softmax,
    }
}

fn convolution(conv: Conv2d, input: TensorView) -> GpuOp {
    match conv.groups {
        1 => GpuOp::Dense(conv),
        groups if groups == input.channels && groups == conv.channels => GpuOp::Depthwise(conv),
        _ => GpuOp::Grouped(conv),
    }
}

/// Copies the inputs of a concatenation that do not lie in its place already.
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
                residual: None,
                output: to,
                activation: None,
                weights: None,
            });
        }
    }
    copies
}

/// Lets the answer leave: by the last softmax, or by a step more.
fn leave(steps: &mut Vec<GpuStep>, answer: TensorView) {
    match steps.last_mut() {
        Some(last) if last.op == GpuOp::Softmax && last.output == answer => {
            last.op = GpuOp::SoftmaxAnswer;
            last.output = last.input;
        }
        _ => steps.push(GpuStep {
            op: GpuOp::Answer,
            input: answer,
            residual: None,
            output: answer,
            activation: None,
            weights: None,
        }),
    }
}
