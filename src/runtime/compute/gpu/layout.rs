//! The layout of weights and lanes in a GPU's memory. Weights are folded and in reading order, in
//! one block of bytes; a lane is one allocation.

use std::borrow::Cow;
use std::ops::Range;

use half::{bf16, f16};

use crate::compute::constants;
use crate::compute::fold::{FoldedNorm, folded_bias, scale};
use crate::compute::fuse::{FusedStep, StepKernel};
use crate::compute::tensors::TensorForm;
use crate::network::{Conv2d, Graph, TensorOp, Weights};

use super::plan::{GpuOp, GpuPlan, GpuStep};
use super::program::Precision;

/// Every array begins at a multiple of this many bytes, as the driver's allocations do.
pub(in crate::compute) const ALIGNMENT: usize = 256;

/// The first bytes of one step's arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepArrays {
    /// Filters, in the plan's precision: dense as `[out][kernel][in]`, grouped and
    /// depthwise as `[kernel][in of a group][out]`; of a lookup the table.
    pub filters: Option<usize>,
    /// A factor for each output channel in float32, for steps without filters; for attention the
    /// one factor of its scores.
    pub scale: Option<usize>,
    /// Parameters of a step on tensors as float32.
    pub values: Option<usize>,
    /// Bias as float32.
    pub bias: Option<usize>,
    /// Bias in the plan's precision.
    pub narrow_bias: Option<usize>,
}

/// The arrays of all steps, and the bytes of all.
#[derive(Clone, Debug)]
pub struct WeightLayout {
    /// The arrays of each step.
    pub steps: Vec<StepArrays>,
    /// The bytes of all arrays.
    pub bytes: usize,
}

impl WeightLayout {
    /// Places the arrays of every step of `plan`, without reading any weights.
    pub fn new(graph: &Graph, plan: &GpuPlan) -> Self {
        let mut bytes = 0;
        let mut take = |size: usize| {
            let start = bytes;
            bytes = (start + size).next_multiple_of(ALIGNMENT);
            start
        };
        let narrow = plan.precision.bytes();
        let steps = plan.steps.iter().map(|step| {
            let Some(fused) = &step.weights else {
                return StepArrays::default();
            };
            if let StepKernel::Tensor(op) = fused.kernel {
                return tensor_arrays(fused, op, narrow, &mut take);
            }
            let channels = step.output.channels;
            let filters = filter_values(step).map(|values| take(values * narrow));
            let biased = fused.norm.is_some() || has_bias(graph, step);
            StepArrays {
                filters,
                scale: filters.is_none().then(|| take(4 * channels)),
                bias: biased.then(|| take(4 * channels)),
                narrow_bias: biased.then(|| take(narrow * channels)),
                values: None,
            }
        });
        let steps = steps.collect();
        WeightLayout { steps, bytes }
    }

    /// Returns the bytes of all arrays, filled with `weights`.
    pub fn fill(&self, graph: &Graph, weights: &Weights, plan: &GpuPlan) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        for (step, arrays) in plan.steps.iter().zip(&self.steps) {
            let Some(fused) = &step.weights else { continue };
            match step.tensor {
                Some(_) => fill_tensor(graph, weights, fused, arrays, plan.precision, &mut bytes),
                None => fill_step(graph, weights, step, arrays, plan.precision, &mut bytes),
            }
            weights.release();
        }
        bytes
    }
}

/// Places the parameters of a step on tensors. A table is in the plan's precision, since it may be
/// most of the network.
fn tensor_arrays(
    fused: &FusedStep,
    op: TensorOp,
    narrow: usize,
    take: &mut impl FnMut(usize) -> usize,
) -> StepArrays {
    let floats = constants::floats(fused, op);
    let is_table = matches!(op, TensorOp::Embedding { .. });
    let is_attention = matches!(fused.tensors.as_deref(), Some(TensorForm::Attention(_)));
    StepArrays {
        filters: is_table.then(|| take(narrow * floats)),
        scale: is_attention.then(|| take(4)),
        values: (!is_table && floats > 0).then(|| take(4 * floats)),
        ..StepArrays::default()
    }
}

fn fill_tensor(
    graph: &Graph,
    weights: &Weights,
    fused: &FusedStep,
    arrays: &StepArrays,
    precision: Precision,
    bytes: &mut [u8],
) {
    if let (Some(at), Some(TensorForm::Attention(form))) = (arrays.scale, fused.tensors.as_deref())
    {
        let scale = constants::score_scale(graph, weights, form);
        write(&mut bytes[at..], &[scale], Precision::F32);
    }
    let (place, precision) = match arrays.filters {
        Some(at) => (Some(at), precision),
        None => (arrays.values, Precision::F32),
    };
    let Some(mut at) = place else { return };
    for values in constants::parameters(graph, weights, fused) {
        write(&mut bytes[at..], &values, precision);
        at += values.len() * precision.bytes();
    }
}

fn has_bias(graph: &Graph, step: &GpuStep) -> bool {
    let node = step.weights.as_ref().and_then(|f| f.weights);
    node.is_some_and(|n| {
        graph
            .operation_parameters(n)
            .iter()
            .any(|o| o.suffix == "bias")
    })
}

/// Returns the number of values of a step's filters, including padded channels, or `None` if it has
/// no filters.
fn filter_values(step: &GpuStep) -> Option<usize> {
    let of = |conv: Conv2d, inputs: usize| conv.channels * conv.kernel.area() * inputs;
    match step.op {
        GpuOp::Dense(conv) => Some(of(conv, step.input.channels)),
        GpuOp::Depthwise(conv) | GpuOp::Grouped(conv) => {
            Some(of(conv, step.input.channels / conv.groups))
        }
        _ => None,
    }
}

fn fill_step(
    graph: &Graph,
    weights: &Weights,
    step: &GpuStep,
    arrays: &StepArrays,
    precision: Precision,
    bytes: &mut [u8],
) {
    let Some(fused) = &step.weights else { return };
    let channels = step.output.channels;
    let norm = fused
        .norm
        .map(|node| FoldedNorm::read(graph, weights, node));
    let raw = |suffix: &str| match fused.weights {
        Some(node) => graph.values_of(node, suffix, weights),
        None => Cow::default(),
    };
    let factors = match step.op {
        GpuOp::LayerNorm(_) => Some(raw("weight").iter().map(|w| w * fused.scale).collect()),
        _ => scale(fused, channels, norm.as_ref()),
    };
    if let Some(at) = arrays.filters {
        let filters = laid_out(step, &raw("weight"), factors.as_deref());
        write(&mut bytes[at..], &filters, precision);
    }
    if let Some(at) = arrays.scale {
        let ones = vec![1.0; channels];
        write(
            &mut bytes[at..],
            factors.as_deref().unwrap_or(&ones),
            Precision::F32,
        );
    }
    let bias = folded_bias(fused, &raw("bias"), norm.as_ref());
    if let Some(at) = arrays.bias {
        write(&mut bytes[at..], &bias, Precision::F32);
    }
    if let Some(at) = arrays.narrow_bias {
        write(&mut bytes[at..], &bias, precision);
    }
}

/// Returns filters `[out][in][kernel]` in the step's reading order, each output channel's times its
/// factor.
fn laid_out(step: &GpuStep, raw: &[f32], factors: Option<&[f32]>) -> Vec<f32> {
    let (conv, grouped) = match step.op {
        GpuOp::Dense(conv) => (conv, false),
        GpuOp::Depthwise(conv) | GpuOp::Grouped(conv) => (conv, true),
        _ => return Vec::new(),
    };
    let taps = conv.kernel.area();
    let inputs = raw.len() / (conv.channels * taps).max(1);
    // Filters have the padding of the samples' channels.
    let padded = if grouped { inputs } else { step.input.channels };
    let mut all = vec![0.0; conv.channels * taps * padded];
    for out in 0..conv.channels {
        let factor = factors.map_or(1.0, |f| f[out]);
        for input in 0..inputs {
            for tap in 0..taps {
                let to = match grouped {
                    true => (tap * inputs + input) * conv.channels + out,
                    false => (out * taps + tap) * padded + input,
                };
                all[to] = raw[(out * inputs + input) * taps + tap] * factor;
            }
        }
    }
    all
}

/// Writes values as bytes of `precision`, rounded to nearest.
pub(in crate::compute) fn write(to: &mut [u8], values: &[f32], precision: Precision) {
    let each = precision.bytes();
    for (to, &value) in to.chunks_exact_mut(each).zip(values) {
        match precision {
            Precision::F32 | Precision::Tf32 => to.copy_from_slice(&value.to_ne_bytes()),
            Precision::Bf16 => to.copy_from_slice(&bf16::from_f32(value).to_ne_bytes()),
            Precision::F16 => to.copy_from_slice(&f16::from_f32(value).to_ne_bytes()),
        }
    }
}

/// The ranges of a lane's memory in bytes, each aligned as the driver's allocations are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compute) struct LaneLayout {
    /// Addresses of the samples, one a row.
    pub table: Range<usize>,
    pub entry: Range<usize>,
    pub slots: Vec<Range<usize>>,
    pub answers: Range<usize>,
    /// Workspace for algorithms that need some, used by one step after the other.
    pub workspace: Range<usize>,
    pub bytes: usize,
}

impl LaneLayout {
    /// Lays out a lane for batches of up to `rows`.
    pub(crate) fn new(plan: &GpuPlan, rows: usize) -> Self {
        let mut end = 0;
        let mut take = |bytes: usize| {
            let start = end;
            end = (start + bytes).next_multiple_of(ALIGNMENT);
            start..start + bytes
        };
        let value = plan.precision.bytes();
        LaneLayout {
            table: take(rows * size_of::<u64>()),
            entry: take(rows * plan.entry * value),
            slots: plan.slots.iter().map(|s| take(rows * s * value)).collect(),
            answers: take(rows * plan.outputs * size_of::<f32>()),
            workspace: take(workspace(plan, rows)),
            bytes: end,
        }
    }
}

/// Returns the bytes of workspace for a lane of `rows` rows: the gathered windows of its
/// largest convolution and 4 MiB for matrix products, at most 64 MiB.
fn workspace(plan: &GpuPlan, rows: usize) -> usize {
    let windows = rows * plan.windows * plan.precision.bytes();
    (windows + (4 << 20)).min(64 << 20)
}
