//! The plan of a network for a GPU: fused steps, with each operand placed in an arena.
//!
//! Fusion and places of values are the same as in the processor's plan (`compute::fuse`,
//! `compute::buffers`): channels-last, with concatenations in place. Here every step runs the whole
//! batch, samples enter by a separate step, and the answer leaves as float32.
//!
//! Values that indices are computed from are float32 in every precision (`exact`), because bfloat16
//! has no whole numbers beyond 256.

use crate::compute::ComputeError;
use crate::compute::buffers::{Slots, TensorView, ValueBuffers, ValuePlace};
use crate::compute::fuse::{FusedStep, MaskedRows, Pairing, StepKernel, ValueId, fuse};
use crate::compute::plan::turn;
use crate::network::{Activation, Conv2d, Graph, Pool, ResponseNorm, Shape};

use super::exact::exact_values;
use super::program::Precision;
use super::steps::{leave, lower};
use super::tensors::{PlacedValue, TensorWork};

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GpuOp {
    /// Samples of float32, channels-first, into channels-last; channels up to `padded`
    /// are zeros.
    Enter {
        /// The channels of the samples.
        channels: usize,
        /// The channels of the step's output.
        padded: usize,
    },
    /// A convolution over all channels, or a fully connected layer (1×1).
    Dense(Conv2d),
    /// A convolution of each channel separately.
    Depthwise(Conv2d),
    /// A convolution in groups of channels.
    Grouped(Conv2d),
    /// Scale, shift, sum, activation, or a copy.
    Pointwise,
    /// The largest value of each window.
    MaxPool(Pool),
    /// The mean of each window.
    MeanPool(Pool),
    /// Means over regions that cover the image.
    Regions,
    /// A bilinear resize, half-pixel centres.
    Resize,
    /// An image as a vector, channels slowest.
    Flatten,
    /// Two values, one of which may be a row for each sample.
    Paired(Pairing),
    /// Channels of as many groups, interleaved.
    Shuffle(usize),
    /// A norm across neighbouring channels.
    ResponseNorm(ResponseNorm),
    /// A norm across channels, with this added to the variance.
    LayerNorm(f32),
    /// Scores of each pixel as shares.
    Softmax(MaskedRows),
    /// Softmax as the network's answer.
    SoftmaxAnswer(MaskedRows),
    /// The answer as float32, channels slowest.
    Answer,
    /// The work that the step's `tensor` describes.
    Tensor,
}

/// A step. The output of a step that writes the answer is its input's view.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuStep {
    /// The operation.
    pub op: GpuOp,
    /// The first operand.
    pub input: TensorView,
    /// The other operand of a sum or product.
    pub other: Option<TensorView>,
    /// The value that is added to the result before the activation.
    pub residual: Option<TensorView>,
    /// The result.
    pub output: TensorView,
    /// The activation of the result.
    pub activation: Option<Activation>,
    /// The fused step that provides its weights, or `None` if it uses none.
    pub(in crate::compute) weights: Option<FusedStep>,
    /// The work of a step on tensors.
    pub tensor: Option<Box<TensorWork>>,
    /// Whether it runs in float32 in every precision.
    pub wide: bool,
}

impl GpuStep {
    pub(super) fn new(op: GpuOp, input: TensorView, output: TensorView) -> Self {
        GpuStep {
            op,
            input,
            other: None,
            residual: None,
            output,
            activation: None,
            weights: None,
            tensor: None,
            wide: false,
        }
    }
}

/// The steps of one network, for batches of any size.
#[derive(Clone, Debug)]
pub struct GpuPlan {
    /// The steps in the order in which they run.
    pub steps: Vec<GpuStep>,
    /// Values of a row of each slot of the arena.
    pub slots: Vec<usize>,
    /// Values of a row of the buffer that samples enter by; 0 if that is a slot.
    pub entry: usize,
    /// Values of a row of the largest matrix of windows that a convolution may gather.
    pub(in crate::compute) windows: usize,
    /// The numbers of weights and activations.
    pub precision: Precision,
    /// Floats of a sample.
    pub inputs: usize,
    /// Floats of an answer.
    pub outputs: usize,
    /// Values whose steps no kernel runs; networks that have some are refused.
    pub(in crate::compute) refused: Vec<ValueId>,
}

/// The buffer that samples enter by, the only one with padded channels.
pub(in crate::compute) const ENTRY: ValuePlace = ValuePlace::Shared;

impl GpuPlan {
    /// Plans `graph` for `precision`.
    pub fn new(graph: &Graph, precision: Precision) -> Self {
        let mut fused = fuse(graph);
        turn(graph, &mut fused);
        let answer = graph.nodes().len();
        let buffers = ValueBuffers::new(graph, &fused);
        let mut slots = Slots::assign(&buffers, &fused, answer, 0);
        let exact = match precision.bytes() {
            4 => vec![false; answer + 2],
            _ => exact_values(&fused, &buffers),
        };
        let more = 4 / precision.bytes();
        let wide = (0..exact.len()).filter(|&value| exact[value]);
        wide.for_each(|value| slots.hold(&buffers, value, more));
        let mut places = Places::new(&buffers, &slots, &exact);
        if let Some(padded) = entry_padding(graph, &fused, precision) {
            places.pad_entry(answer + 1, padded);
        }
        let (mut steps, mut refused) = (Vec::new(), Vec::new());
        for step in fused.iter().filter(|step| !buffers.is_free(step)) {
            match lower(step, &places) {
                Some(lowered) => steps.extend(lowered),
                None => refused.push(step.output),
            }
        }
        if !matches!(graph.input(), Shape::Image { .. }) {
            enter_as_rows(&mut steps);
        }
        let is_image = matches!(graph.output(), Shape::Image { .. });
        leave(&mut steps, places.value(answer), is_image);
        GpuPlan {
            entry: places.entry.map_or(0, |(_, view)| view.sample_stride()),
            windows: steps.iter().map(windows).max().unwrap_or(0),
            steps,
            slots: slots.sizes,
            precision,
            inputs: graph.input().elements(),
            outputs: graph.output().elements(),
            refused,
        }
    }
}

/// Checks that GPUs run every operation of `graph` in `precision`. Samples whose lengths vary run
/// at the largest.
///
/// # Errors
/// [`ComputeError::NotOnGpu`], with all layers that they do not run, or
/// [`ComputeError::LengthsOnGpu`].
pub fn check(graph: &Graph, precision: Precision) -> Result<(), ComputeError> {
    if graph
        .lengths()
        .is_some_and(|lengths| lengths.mask().is_none())
    {
        return Err(ComputeError::LengthsOnGpu);
    }
    let plan = GpuPlan::new(graph, precision);
    let node = |value: &ValueId| graph.nodes().get(value.checked_sub(1)?);
    let layers = plan.refused.iter().filter_map(node);
    let layers: Vec<String> = layers.map(|n| n.name.clone()).collect();
    match plan.refused.is_empty() {
        true => Ok(()),
        false => Err(ComputeError::NotOnGpu { layers }),
    }
}

/// Makes samples enter as the rows that they arrive in, whose values keep their order.
fn enter_as_rows(steps: &mut [GpuStep]) {
    for step in steps {
        if let GpuOp::Enter { .. } = step.op {
            step.output = as_row(step.output);
            let channels = step.output.channels;
            step.op = GpuOp::Enter {
                channels,
                padded: channels,
            };
        }
    }
}

/// Returns all values of a contiguous view as a row.
pub(super) fn as_row(view: TensorView) -> TensorView {
    if view.pitch != view.channels {
        return view;
    }
    TensorView {
        channels: view.pixels() * view.channels,
        pitch: view.pixels() * view.pitch,
        height: 1,
        width: 1,
        ..view
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
pub(super) struct Places<'a> {
    buffers: &'a ValueBuffers,
    slots: &'a Slots,
    /// Whether each value must be exact.
    pub exact: &'a [bool],
    entry: Option<(ValueId, TensorView)>,
}

impl<'a> Places<'a> {
    fn new(buffers: &'a ValueBuffers, slots: &'a Slots, exact: &'a [bool]) -> Self {
        Places {
            buffers,
            slots,
            exact,
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

    pub(super) fn view(&self, value: ValueId) -> TensorView {
        match self.entry {
            Some((entry, view)) if entry == value => view,
            _ => self.buffers.view(self.slots, value),
        }
    }

    /// Returns the number of a value's channels without padding.
    pub(super) fn channels(&self, value: ValueId) -> usize {
        self.buffers.view(self.slots, value).channels
    }

    pub(super) fn value(&self, value: ValueId) -> PlacedValue {
        PlacedValue {
            view: self.view(value),
            wide: self.exact[value],
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
