//! The parameters of steps on tensors, as their kernels read them.

use std::borrow::Cow;

use super::ComputeError;
use super::candle_node::CandleNode;
use super::fuse::FusedStep;
use super::kernels::{Buffer, PlannedStep, StepMethod, StepWeights};
use super::tensors::{AttentionForm, MaskSource, TensorForm};
use crate::network::{Binary, Graph, Op, TensorOp, Weights};

/// Returns the floats of the parameters of a step on tensors.
pub(super) fn floats(fused: &FusedStep, op: TensorOp) -> usize {
    match fused.tensors.as_deref() {
        Some(TensorForm::Attention(form)) => form.constants().map(|(_, values)| values).sum(),
        _ => op.parameter_values(),
    }
}

/// Returns the values of a step's parameters, in the order of the kernels.
pub(super) fn parameters<'w>(
    graph: &Graph,
    weights: &'w Weights,
    fused: &FusedStep,
) -> Vec<Cow<'w, [f32]>> {
    let masks = |form: &AttentionForm| {
        let constants = form.constants();
        let each = constants.map(|(node, _)| graph.values_of(node, "value", weights));
        each.collect()
    };
    match (fused.tensors.as_deref(), fused.weights) {
        (Some(TensorForm::Attention(form)), _) => masks(form),
        (_, Some(node)) => {
            let operands = graph.operation_parameters(node).into_iter();
            let all = operands.map(|o| graph.values_of(node, o.suffix, weights));
            all.collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the parameters of a step on tensors.
///
/// # Errors
/// [`ComputeError::OutOfMemory`], or a tensor for Candle cannot be made.
pub(super) fn fold(
    graph: &Graph,
    weights: &Weights,
    step: &PlannedStep,
) -> Result<StepWeights, ComputeError> {
    let fused = &step.placed.fused;
    let empty = |candle| StepWeights {
        candle,
        ..StepWeights::default()
    };
    match (&step.method, fused.tensors.as_deref(), fused.weights) {
        (_, Some(TensorForm::Attention(form)), _) => {
            let scale = score_scale(graph, weights, form);
            values(weights, &parameters(graph, weights, fused), vec![scale])
        }
        (StepMethod::Candle, _, Some(node)) => {
            Ok(empty(Some(CandleNode::new(graph, weights, node)?)))
        }
        (_, _, Some(node)) => operands(graph, weights, node),
        _ => Ok(empty(None)),
    }
}

/// Copies the parameters of a node one after another. Tables may be large, and are read directly
/// from their file to their destination.
fn operands(graph: &Graph, weights: &Weights, node: usize) -> Result<StepWeights, ComputeError> {
    let operands = graph.operation_parameters(node);
    let counts = operands
        .iter()
        .map(|operand| operand.shape.iter().product());
    let counts: Vec<usize> = counts.collect();
    let mut packed = Buffer::zeroed(counts.iter().sum())?;
    let mut rest = packed.values_mut();
    for (operand, count) in operands.iter().zip(counts) {
        let (to, behind) = rest.split_at_mut(count);
        graph.copy_values(node, operand.suffix, weights, to);
        rest = behind;
    }
    Ok(StepWeights {
        packed,
        ..StepWeights::default()
    })
}

/// Copies parameters one after another.
fn values(
    weights: &Weights,
    parameters: &[Cow<'_, [f32]>],
    bias: Vec<f32>,
) -> Result<StepWeights, ComputeError> {
    let all = || parameters.iter().flat_map(|values| values.iter());
    let mut packed = Buffer::zeroed(all().count())?;
    for (to, value) in packed.values_mut().iter_mut().zip(all()) {
        *to = *value;
    }
    weights.release();
    Ok(StepWeights {
        packed,
        bias,
        ..StepWeights::default()
    })
}

/// Returns the product of the factors of scores.
pub(super) fn score_scale(graph: &Graph, weights: &Weights, form: &AttentionForm) -> f32 {
    let factors = form
        .factors
        .iter()
        .map(|&node| factor(graph, weights, node));
    factors.product()
}

/// Returns the factor of a node.
fn factor(graph: &Graph, weights: &Weights, node: usize) -> f32 {
    let value = || {
        let values = graph.values_of(node, "value", weights);
        values.first().copied()
    };
    match graph.nodes()[node].op {
        Op::Scale { by } => by,
        Op::Tensor(TensorOp::With {
            kind: Binary::Div, ..
        }) => 1.0 / value().unwrap_or(1.0),
        _ => value().unwrap_or(1.0),
    }
}

impl AttentionForm {
    /// Iterates over the nodes whose parameters are added to scores, with the numbers of values.
    fn constants(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.masks.iter().filter_map(|mask| match mask.source {
            MaskSource::Parameter { node, values } => Some((node, values)),
            MaskSource::Input(_) => None,
        })
    }
}
