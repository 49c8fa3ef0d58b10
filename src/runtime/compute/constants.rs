//! The parameters of steps on tensors, as their kernels read them.

use super::ComputeError;
use super::candle_node::CandleNode;
use super::kernels::{Buffer, PlannedStep, StepMethod, StepWeights};
use super::tensors::{AttentionForm, MaskSource, TensorForm};
use crate::network::{Binary, Graph, Op, TensorOp, Weights};

/// Returns the floats of the parameters of a step on tensors.
pub(super) fn floats(step: &PlannedStep, op: TensorOp) -> usize {
    match step.placed.fused.tensors.as_deref() {
        Some(TensorForm::Attention(form)) => form.constants().map(|(_, values)| values).sum(),
        _ => op.parameter_values(),
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
        packed: Buffer::default(),
        bias: Vec::new(),
        candle,
    };
    match (&step.method, fused.tensors.as_deref(), fused.weights) {
        (_, Some(TensorForm::Attention(form)), _) => attention(graph, weights, form),
        (StepMethod::Candle, _, Some(node)) => {
            Ok(empty(Some(CandleNode::new(graph, weights, node)?)))
        }
        (_, _, Some(node)) => {
            let names = graph.node_parameters(node).into_iter().map(|p| p.name);
            values(weights, &names.collect::<Vec<_>>(), Vec::new())
        }
        _ => Ok(empty(None)),
    }
}

/// Copies parameters one after another.
fn values(
    weights: &Weights,
    names: &[String],
    bias: Vec<f32>,
) -> Result<StepWeights, ComputeError> {
    let read: Vec<_> = names.iter().map(|name| weights.read(name)).collect();
    let mut packed = Buffer::zeroed(read.iter().map(|values| values.len()).sum())?;
    let all = read.iter().flat_map(|values| values.iter());
    for (to, value) in packed.values_mut().iter_mut().zip(all) {
        *to = *value;
    }
    weights.release();
    Ok(StepWeights {
        packed,
        bias,
        candle: None,
    })
}

/// Returns the constants that are added to scores, and the product of their factors.
fn attention(
    graph: &Graph,
    weights: &Weights,
    form: &AttentionForm,
) -> Result<StepWeights, ComputeError> {
    let factors = form
        .factors
        .iter()
        .map(|&node| factor(graph, weights, node));
    let scale = factors.product();
    let named = |node: usize| format!("{}.value", graph.nodes()[node].name);
    let names: Vec<String> = form.constants().map(|(node, _)| named(node)).collect();
    values(weights, &names, vec![scale])
}

/// Returns what a node multiplies by.
fn factor(graph: &Graph, weights: &Weights, node: usize) -> f32 {
    let node = &graph.nodes()[node];
    let value = || {
        weights
            .get(&format!("{}.value", node.name))
            .first()
            .copied()
    };
    match node.op {
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
