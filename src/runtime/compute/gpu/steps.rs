//! Fused steps as steps of a GPU: the kernel of each, and its operands.

use crate::compute::buffers::TensorView;
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::network::Conv2d;

use super::plan::{GpuOp, GpuStep, Places, as_row};
use super::tensors::{self, PlacedValue, TensorWork};

/// Returns the launches of a step, or `None` if no kernel runs it.
pub(super) fn lower(step: &FusedStep, places: &Places<'_>) -> Option<Vec<GpuStep>> {
    match step.kernel {
        StepKernel::Concat => return concat(step, places),
        StepKernel::Tensor(op) => {
            let inputs: Vec<PlacedValue> = step.inputs.iter().map(|&v| places.value(v)).collect();
            let form = step.tensors.as_deref()?;
            let works = tensors::lower(op, form, &inputs, places.value(step.output))?;
            let (input, output) = (places.view(step.inputs[0]), places.view(step.output));
            let of = |work| tensor_step(work, Some(step), input, output);
            return Some(works.into_iter().map(of).collect());
        }
        _ => {}
    }
    let wide = precision_of(step, places)?;
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
    Some(vec![GpuStep {
        other,
        residual: step.residual.map(|v| places.view(v)),
        activation: step.activation,
        weights: (weighted || step.kernel == StepKernel::ScaleShift).then(|| step.clone()),
        wide,
        ..GpuStep::new(operation(step, input, output, places)?, input, output)
    }])
}

/// Returns whether a step's values are float32 in every precision, or `None` if only some are, or
/// its filters are not.
fn precision_of(step: &FusedStep, places: &Places<'_>) -> Option<bool> {
    let wide = places.exact[step.output];
    let filtered = matches!(step.kernel, StepKernel::Convolution(_) | StepKernel::Linear);
    let alike = step.reads().all(|v| v == 0 || places.exact[v] == wide);
    // Their first values are found by the plan's precision.
    let inside = step
        .reads()
        .chain([step.output])
        .any(|v| places.view(v).first > 0);
    let inside = inside || matches!(step.kernel, StepKernel::Channels(_));
    (alike && !(wide && (filtered || inside))).then_some(wide)
}

fn tensor_step(
    work: TensorWork,
    step: Option<&FusedStep>,
    input: TensorView,
    output: TensorView,
) -> GpuStep {
    GpuStep {
        weights: step.filter(|s| s.weights.is_some()).cloned(),
        tensor: Some(Box::new(work)),
        ..GpuStep::new(GpuOp::Tensor, input, output)
    }
}

fn operation(
    step: &FusedStep,
    input: TensorView,
    output: TensorView,
    places: &Places<'_>,
) -> Option<GpuOp> {
    Some(match step.kernel {
        StepKernel::Enter => GpuOp::Enter {
            channels: places.channels(step.output),
            padded: output.channels,
        },
        StepKernel::Convolution(conv) => convolution(conv, input),
        StepKernel::Linear => GpuOp::Dense(Conv2d::new(output.channels, 1)),
        StepKernel::ScaleShift | StepKernel::Copy | StepKernel::Channels(_) => GpuOp::Pointwise,
        StepKernel::Paired(pairing) => GpuOp::Paired(pairing),
        StepKernel::ChannelShuffle(groups) => GpuOp::Shuffle(groups),
        StepKernel::LocalResponseNorm(norm) => GpuOp::ResponseNorm(norm),
        StepKernel::LayerNorm(eps) => GpuOp::LayerNorm(eps),
        StepKernel::MaxPool(pool) => GpuOp::MaxPool(pool),
        StepKernel::AvgPool(pool) => GpuOp::MeanPool(pool),
        StepKernel::GlobalAvgPool | StepKernel::AdaptiveAvgPool => GpuOp::Regions,
        StepKernel::Upscale => GpuOp::Resize,
        StepKernel::Flatten => GpuOp::Flatten,
        StepKernel::Softmax(masked) => GpuOp::Softmax(masked),
        // Both are lowered part by part.
        StepKernel::Concat | StepKernel::Tensor(_) => return None,
        // These steps exist only on processors.
        StepKernel::Table(_) => return None,
        StepKernel::RangedBytes | StepKernel::RangedLinear { .. } => return None,
    })
}

fn convolution(conv: Conv2d, input: TensorView) -> GpuOp {
    match conv.groups {
        1 => GpuOp::Dense(conv),
        groups if groups == input.channels && groups == conv.channels => GpuOp::Depthwise(conv),
        _ => GpuOp::Grouped(conv),
    }
}

/// Returns copies of the inputs of a concatenation that do not lie in its place already.
fn concat(step: &FusedStep, places: &Places<'_>) -> Option<Vec<GpuStep>> {
    let whole = places.value(step.output);
    let mut first = whole.view.first;
    let mut copies = Vec::new();
    for &input in &step.inputs {
        let from = places.value(input);
        let view = TensorView {
            first,
            channels: from.view.channels,
            ..whole.view
        };
        first += from.view.channels;
        if from.view == view {
            continue;
        }
        copies.push(match from.wide || whole.wide {
            true => {
                let work = tensors::copied(from, PlacedValue { view, ..whole })?;
                tensor_step(work, None, from.view, view)
            }
            false => GpuStep::new(GpuOp::Pointwise, from.view, view),
        });
    }
    Some(copies)
}

/// Makes the last softmax write the answer, or adds a step that does.
pub(super) fn leave(steps: &mut Vec<GpuStep>, answer: PlacedValue, is_image: bool) {
    let view = answer.view;
    match steps.last_mut() {
        Some(GpuStep {
            op: op @ GpuOp::Softmax(_),
            input,
            output,
            ..
        }) if *output == view => {
            if let GpuOp::Softmax(masked) = *op {
                *op = GpuOp::SoftmaxAnswer(masked);
            }
            *output = *input;
        }
        _ => {
            // Rows are written one after another, an image's channels before its pixels.
            let view = if is_image { view } else { as_row(view) };
            steps.push(GpuStep {
                wide: answer.wide,
                ..GpuStep::new(GpuOp::Answer, view, view)
            });
        }
    }
}
