//! Folds batch norms into weights, and lays these out as the kernels read them.

use std::borrow::Cow;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::network::{Binary, Conv2d, Graph, Op, TensorOp, Weights};

use super::ComputeError;
use super::constants;
use super::fuse::{FusedStep, StepKernel};
use super::kernels::{Buffer, Filters, LINE, PlannedStep, StepWeights, TABLE_FLOATS, bytes_of};
use super::tables;

/// Returns the floats of a step's folded weights.
pub(super) fn floats(step: &PlannedStep) -> usize {
    match step.placed.fused.kernel {
        StepKernel::Tensor(op) => return constants::floats(&step.placed.fused, op),
        StepKernel::Table(_) => return TABLE_FLOATS,
        _ => {}
    }
    let packed = step
        .method
        .weight_floats()
        .max(match step.placed.fused.kernel {
            StepKernel::ScaleShift | StepKernel::LayerNorm(_) => step.placed.output.channels,
            _ => 0,
        });
    let biased = packed > 0;
    packed
        + if biased {
            step.placed.output.channels + LINE
        } else {
            0
        }
}

/// The floats of weights that justify one more thread.
const WORTH_A_THREAD: usize = 4 << 20;

/// Folds the weights of all steps with `fold`. Many weights are folded on all cores of the calling
/// thread.
///
/// # Errors
/// As for `fold`.
pub(super) fn fold_all(
    steps: &[&PlannedStep],
    fold: impl Fn(&PlannedStep) -> Result<Arc<StepWeights>, ComputeError> + Sync,
) -> Result<Vec<Arc<StepWeights>>, ComputeError> {
    let all: usize = steps.iter().map(|step| floats(step)).sum();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (all / WORTH_A_THREAD).clamp(1, cores);
    let next = AtomicUsize::new(0);
    let some = || -> Result<Vec<_>, ComputeError> {
        let mut folded = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(step) = steps.get(at) else {
                return Ok(folded);
            };
            folded.push((at, fold(step)?));
        }
    };
    let mut folded = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        let mut folded = some()?;
        for other in others {
            folded.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok::<_, ComputeError>(folded)
    })?;
    folded.sort_unstable_by_key(|(at, _)| *at);
    Ok(folded.into_iter().map(|(_, weights)| weights).collect())
}

/// Folds the weights that `step` uses.
///
/// # Errors
/// [`ComputeError::OutOfMemory`].
pub(super) fn fold(
    graph: &Graph,
    weights: &Weights,
    step: &PlannedStep,
) -> Result<StepWeights, ComputeError> {
    let fused = &step.placed.fused;
    if let StepKernel::Tensor(_) = fused.kernel {
        return constants::fold(graph, weights, step);
    }
    if let StepKernel::Table(_) = fused.kernel {
        return table(graph, weights, step);
    }
    let norm = fused
        .norm
        .map(|node| FoldedNorm::read(graph, weights, node));
    match fused.weights {
        Some(node) if matches!(fused.kernel, StepKernel::LayerNorm(_)) => {
            layer_norm(graph, weights, step, node)
        }
        Some(node) => weighted(graph, weights, step, node, norm),
        None => unweighted(step, norm),
    }
}

/// Returns the answers of a table, and their bytes if it answers bytes.
fn table(
    graph: &Graph,
    weights: &Weights,
    step: &PlannedStep,
) -> Result<StepWeights, ComputeError> {
    let answers = tables::answers(graph, weights, &step.placed.fused);
    let numbers = step.placed.reduced.output.map(|view| view.numbers);
    let bytes = numbers.and_then(|numbers| bytes_of(&answers, numbers));
    let bytes = bytes.unwrap_or_default();
    let mut packed = Buffer::zeroed(answers.len() + bytes.len() / 4)?;
    let (floats, rest) = packed.values_mut().split_at_mut(answers.len());
    floats.copy_from_slice(&answers);
    bytemuck::cast_slice_mut(rest).copy_from_slice(&bytes);
    Ok(StepWeights {
        packed,
        ..StepWeights::default()
    })
}

/// Folds a step without its own weights: a norm, a scale, or neither.
fn unweighted(step: &PlannedStep, norm: Option<FoldedNorm>) -> Result<StepWeights, ComputeError> {
    let by = step.placed.fused.scale;
    let (scale, shift) = match (norm, step.placed.fused.kernel) {
        (Some(norm), _) => (norm.scale, norm.shift),
        (None, StepKernel::ScaleShift) => (vec![1.0; step.placed.output.channels], Vec::new()),
        (None, _) => (Vec::new(), Vec::new()),
    };
    let mut packed = Buffer::zeroed(scale.len())?;
    for (to, s) in packed.values_mut().iter_mut().zip(scale) {
        *to = s * by;
    }
    let shift = shift.iter().map(|s| s * by).collect();
    Ok(StepWeights {
        packed,
        bias: padded(shift),
        ..StepWeights::default()
    })
}

/// Folds a norm across channels, whose weights are a scale and a shift for each.
fn layer_norm(
    graph: &Graph,
    weights: &Weights,
    step: &PlannedStep,
    node: usize,
) -> Result<StepWeights, ComputeError> {
    let by = step.placed.fused.scale;
    let of = |suffix: &str| -> Vec<f32> {
        let raw = graph.values_of(node, suffix, weights);
        raw.iter().map(|v| v * by).collect()
    };
    let mut packed = Buffer::zeroed(step.placed.output.channels)?;
    for (to, scale) in packed.values_mut().iter_mut().zip(of("weight")) {
        *to = scale;
    }
    Ok(StepWeights {
        packed,
        bias: padded(of("bias")),
        ..StepWeights::default()
    })
}

fn weighted(
    graph: &Graph,
    weights: &Weights,
    step: &PlannedStep,
    node: usize,
    norm: Option<FoldedNorm>,
) -> Result<StepWeights, ComputeError> {
    let raw = graph.filters_of(node, weights);
    let bias = graph.values_of(node, "bias", weights);
    let bias = corrected(&bias, step.method.correction());
    let scale = scale(
        &step.placed.fused,
        step.placed.output.channels,
        norm.as_ref(),
    );
    let filters = Filters {
        conv: step
            .method
            .conv()
            .unwrap_or(Conv2d::new(step.placed.output.channels, 1)),
        raw: &raw,
        scale: scale.as_deref(),
        read: &|| weights.release(),
    };
    let mut packed = Buffer::zeroed(step.method.weight_floats())?;
    step.method.pack(filters, packed.values_mut());
    if let Some(shift) = step.placed.fused.shift() {
        let values = graph.values_of(shift, "value", weights);
        step.method.pack_shift(&values, packed.values_mut());
    }
    Ok(StepWeights {
        pairs_fit: step.method.fits_pairs(packed.values()),
        packed,
        candle: None,
        bias: padded(folded_bias(&step.placed.fused, &bias, norm.as_ref())),
    })
}

/// Returns a bias with a correction added to it.
fn corrected<'a>(bias: &'a [f32], correction: Option<&'a [f32]>) -> Cow<'a, [f32]> {
    match correction {
        None => bias.into(),
        Some(correction) if bias.is_empty() => correction.into(),
        Some(correction) => bias.iter().zip(correction).map(|(b, c)| b + c).collect(),
    }
}

/// Returns the factor of each output channel's weights, or `None` if all are 1.
pub(super) fn scale(
    fused: &FusedStep,
    channels: usize,
    norm: Option<&FoldedNorm>,
) -> Option<Vec<f32>> {
    let by = fused.scale;
    match norm {
        Some(norm) => Some(norm.scale.iter().map(|s| s * by).collect()),
        None if by != 1.0 => Some(vec![by; channels]),
        None => None,
    }
}

/// Returns the bias of each output channel, or an empty list without a bias.
pub(super) fn folded_bias(fused: &FusedStep, bias: &[f32], norm: Option<&FoldedNorm>) -> Vec<f32> {
    let by = fused.scale;
    match norm {
        None => bias.iter().map(|b| b * by).collect(),
        Some(norm) => (0..norm.shift.len())
            .map(|c| (norm.shift[c] + norm.scale[c] * bias.get(c).copied().unwrap_or(0.0)) * by)
            .collect(),
    }
}

/// Returns the bias with zeros up to a whole vector after the last value.
fn padded(mut bias: Vec<f32>) -> Vec<f32> {
    if !bias.is_empty() {
        bias.resize(bias.len() + LINE, 0.0);
    }
    bias
}

/// A batch norm as one scale and one shift for each channel.
pub(super) struct FoldedNorm {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

impl FoldedNorm {
    pub(super) fn read(graph: &Graph, weights: &Weights, index: usize) -> FoldedNorm {
        let node = &graph.nodes()[index];
        if let Op::Tensor(TensorOp::With { kind, .. }) = node.op {
            let value = graph.values_of(index, "value", weights);
            return FoldedNorm::constant_norm(kind, &value, node.shape.channels());
        }
        let eps = match node.op {
            Op::BatchNorm { eps } => eps,
            _ => 0.0,
        };
        let of = |suffix: &str| graph.values_of(index, suffix, weights);
        let scale: Vec<f32> = of("weight")
            .iter()
            .zip(of("running_var").iter())
            .map(|(w, var)| w / (var + eps).sqrt())
            .collect();
        let shift = of("bias")
            .iter()
            .zip(of("running_mean").iter())
            .zip(&scale)
            .map(|((b, mean), s)| b - mean * s)
            .collect();
        FoldedNorm { scale, shift }
    }

    /// Returns the sum with a constant or the product: one value for all channels, or one for each.
    fn constant_norm(kind: Binary, value: &[f32], channels: usize) -> FoldedNorm {
        let each: Vec<f32> = value.iter().cycle().take(channels).copied().collect();
        match kind {
            Binary::Mul => FoldedNorm {
                scale: each,
                shift: vec![0.0; channels],
            },
            _ => FoldedNorm {
                scale: vec![1.0; channels],
                shift: each,
            },
        }
    }
}
