//! Turns each operator into an operation of the network, or into another view of its input.

mod activations;
mod channels;
mod dense;
mod elementwise;
mod inputs;
mod views;
mod windows;

use inputs::{Added, Inputs, same, unsupported};

use super::node::{Node, axis};
use super::partial::{Activation, PartialNetwork, Value};
use super::patterns::SpelledOperation;
use super::shapes::concat_dims;
use crate::network::{Op, Shape};

/// Adds what a node computes. A refusal without text says that an input is not known.
pub(super) fn add<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: Vec<Option<Value>>,
) -> Added {
    let known = node.operator().and_then(handler);
    let Some(handler) = known else {
        return unsupported("the operator is not known");
    };
    if inputs
        .iter()
        .flatten()
        .any(|value| matches!(value, Value::Unknown))
    {
        return unsupported("");
    }
    handler(network, node, &Inputs(inputs))
}

/// Adds an operation that several nodes spell out, the last of them `end`.
pub(super) fn add_spelled<'a>(
    network: &mut PartialNetwork<'a>,
    end: Node<'a>,
    operation: SpelledOperation<'a>,
    inputs: Vec<Option<Value>>,
) -> Added {
    if matches!(inputs.first(), Some(Some(Value::Unknown))) {
        return unsupported("");
    }
    let inputs = Inputs(inputs);
    match operation {
        SpelledOperation::Activation(function) => same(network, end, &inputs, Op::from(function)),
        SpelledOperation::LayerNorm { eps, axis, .. } => {
            channels::norm(network, end, &inputs, axis, eps)
        }
    }
}

type Handler = for<'a> fn(&mut PartialNetwork<'a>, Node<'a>, &Inputs) -> Added;

fn handler(operator: &str) -> Option<Handler> {
    Some(match operator {
        "Conv" => windows::conv,
        "BatchNormalization" => elementwise::batch_norm,
        "Relu" | "LeakyRelu" | "Elu" | "Sigmoid" | "HardSigmoid" | "HardSwish" | "Swish"
        | "Tanh" | "Softplus" | "Mish" | "Gelu" => activations::activation,
        "Clip" => activations::clip,
        "Split" => channels::split,
        "Slice" => channels::slice,
        "LRN" => channels::response_norm,
        "LayerNormalization" => channels::layer_norm,
        "Transpose" => views::transpose,
        "MaxPool" => windows::max_pool,
        "AveragePool" => windows::average_pool,
        "GlobalAveragePool" => windows::global_average,
        "ReduceMean" => windows::reduce_mean,
        "Gemm" => dense::gemm,
        "MatMul" => dense::matmul,
        "Add" | "Sum" => elementwise::sum,
        "Sub" => elementwise::difference,
        "Mul" | "Div" => elementwise::scale,
        "Concat" => concat,
        "Flatten" => views::flatten,
        "Reshape" => views::reshape,
        "Squeeze" => views::squeeze,
        "Unsqueeze" => views::unsqueeze,
        "Identity" | "Dropout" => |_, _, inputs| inputs.seen(0).cloned(),
        "Softmax" => softmax,
        _ => return None,
    })
}

fn concat<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let parts = (0..inputs.0.len()).map(|n| inputs.activation(n));
    let parts: Vec<&Activation> = parts.collect::<Result<_, _>>()?;
    let rank = parts.first().map_or(0, |p| p.dims.len());
    let along = axis(node.integer("axis").unwrap_or(1), rank)?;
    if along != 1 {
        return unsupported(format!("joined along axis {along}; channels are axis 1"));
    }
    let dims = concat_dims(
        &parts.iter().map(|p| p.dims.as_slice()).collect::<Vec<_>>(),
        along,
    )?;
    let ids: Vec<_> = parts.iter().map(|p| p.id).collect();
    let id = network.layer(node, Op::Concat, &ids, Vec::new())?;
    Ok(Activation::new(id, dims))
}

/// Before opset 13 everything behind `axis` is one vector, and the axis is 1 by default.
fn softmax<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs) -> Added {
    let x = inputs.activation(0)?;
    let default = if node.opset < 13 { 1 } else { -1 };
    let along = axis(node.integer("axis").unwrap_or(default), x.dims.len())?;
    let others = (0..x.dims.len()).filter(|a| *a != along);
    let is_row = others.map(|a| x.dims[a]).product::<usize>() == 1;
    match network.shape(x.id) {
        Shape::Vector { .. } if is_row && along != 0 => same(network, node, inputs, Op::Softmax),
        _ => unsupported(format!("a softmax over axis {along} of {:?}", x.dims)),
    }
}
