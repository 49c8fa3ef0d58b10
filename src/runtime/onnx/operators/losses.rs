//! Losses of class scores: `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`.

use super::gather::{computed_elements, embedding, gathered};
use super::inputs::{Added, Inputs, unsupported};
use super::softmax::log_shares;
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

pub(super) fn negative_log_likelihood<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let logarithms = network.input(node, inputs, 0)?;
    loss(network, node, inputs, &logarithms)
}

/// Answers the loss and the logarithms of the shares.
pub(super) fn cross_entropy<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let scores = network.input(node, inputs, 0)?;
    if scores.dims().len() < 2 {
        return unsupported("its scores have no axis of classes");
    }
    let logarithms = log_shares(network, node, &scores, 1)?;
    let made = loss(network, node, inputs, &logarithms)?;
    Ok(vec![made, logarithms])
}

/// Returns the loss from the logarithms `[batch, classes, …]` and the classes `[batch, …]` that
/// were right.
fn loss<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    logarithms: &Activation,
) -> Added {
    let mut target = network.input(node, inputs, 1)?;
    let counted = counted(network, node, &target)?;
    if let Some(counted) = &counted {
        target = network.pair(node, Binary::Mul, &target, counted)?;
    }
    let mut own = picked(network, node, logarithms, &target)?;
    if let Some(counted) = &counted {
        own = network.where_else(node, counted, &own, 0.0)?;
    }
    let weights = weights(network, node, inputs, &target, counted)?;
    let own = match &weights {
        Some(weights) => network.pair(node, Binary::Mul, &own, weights)?,
        None => own,
    };
    summed(network, node, &own, weights)
}

/// Returns 1 for each class that counts and 0 for ignored classes, or `None` if all classes count.
fn counted<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    target: &Activation,
) -> Result<Option<Activation>, Refusal> {
    let Some(ignored) = node.integer("ignore_index") else {
        return Ok(None);
    };
    let ignored = network.with_number(node, Binary::Equal, target, ignored as f32, false)?;
    let ignored = ignored.typed(NumberType::Floats);
    network
        .with_number(node, Binary::Sub, &ignored, 1.0, true)
        .map(Some)
}

/// Returns the negative logarithm of each class that was right.
fn picked<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    logarithms: &Activation,
    target: &Activation,
) -> Added {
    let mut dims = target.dims().to_vec();
    if dims.is_empty() || logarithms.dims().len() != dims.len() + 1 {
        return unsupported("its classes and its scores differ in rank");
    }
    dims.insert(1, 1);
    let which = network.reshaped(node, target, &dims)?;
    let data = Value::Activation(logarithms.clone());
    let own = computed_elements(network, node, &data, &which, 1)?;
    let own = network.reshaped(node, &own, target.dims())?;
    network.unary(node, Unary::Neg, &own)
}

/// Returns the weight of each loss, or `None` if all weights are equal.
fn weights<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    target: &Activation,
    counted: Option<Activation>,
) -> Result<Option<Activation>, Refusal> {
    if !inputs.has(2) {
        return Ok(counted);
    }
    let own = match inputs.value(2)? {
        Value::Constant(table) => embedding(network, node, table, target, 0)?,
        value => {
            let table = network.operand(node, value)?;
            gathered(network, node, &table, target, 0)?
        }
    };
    match counted {
        Some(counted) => network.where_else(node, &counted, &own, 0.0).map(Some),
        None => Ok(Some(own)),
    }
}

/// Returns the losses as the node sums them up.
fn summed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    own: &Activation,
    weights: Option<Activation>,
) -> Added {
    let over: Vec<usize> = (0..own.dims().len()).collect();
    let made = match (node.text("reduction").unwrap_or(b"mean"), weights) {
        (b"none", _) => return Ok(own.clone()),
        (b"sum", _) => network.reduce(node, Reduction::Sum, own, &over)?,
        (b"mean", None) => network.reduce(node, Reduction::Mean, own, &over)?,
        (b"mean", Some(weights)) => {
            let all = network.reduce(node, Reduction::Sum, own, &over)?;
            let weight = network.reduce(node, Reduction::Sum, &weights, &over)?;
            network.pair(node, Binary::Div, &all, &weight)?
        }
        _ => return unsupported("unknown reduction"),
    };
    network.reshaped(node, &made, &[])
}
