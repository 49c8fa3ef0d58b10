//! Norms over the last axes of a tensor.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Op, Reduction, Shape, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Adds a norm over the last axis with a factor and an addend for each of its values.
fn rows_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    eps: f32,
    [scale, shift]: [Vec<f32>; 2],
) -> Added {
    let last = x.dims().len() - 1;
    let axes = x.layout.ending_in(&[last]);
    let is_image = matches!(network.shape(x.id), Shape::Image { .. });
    // The channels of an image lie last.
    let alike = network.shape(x.id).channels() == x.dims()[last] && x.layout.lies_as(&axes);
    let from = match is_image && alike && x.dims()[last] > 1 {
        true => x.id,
        false => network.stored(node, x, &axes)?,
    };
    let weights = vec![("weight", scale), ("bias", shift)];
    let id = network.layer(node, Op::LayerNorm { eps }, &[from], weights)?;
    let layout = Layout::new(x.dims().to_vec(), &axes);
    Ok(Activation::floats(id, layout))
}

/// Returns the constant factors and addends of a norm over values of `dims`, or `None` if they are
/// not constant or not one for each value.
fn constants(inputs: &Inputs<'_>, dims: &[usize]) -> Option<[Vec<f32>; 2]> {
    let count = dims.iter().product();
    let read = |n: usize, default: f32| match inputs.0.get(n) {
        Some(Some(Value::Constant(c))) => {
            let floats = c.as_floats().filter(|v| v.iter().all(|v| v.is_finite()));
            floats
                .filter(|v| c.dims == dims && v.len() == count)
                .map(<[f32]>::to_vec)
        }
        Some(Some(_)) => None,
        _ => Some(vec![default; count]),
    };
    Some([read(1, 1.0)?, read(2, 0.0)?])
}

/// Also answers the mean and the factor if they are read.
pub(super) fn layer_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
    let over: Vec<usize> = (first..rank).collect();
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let parts = node.outputs().iter().skip(1);
    let alone = !parts.into_iter().any(|name| network.is_read(name));
    if let Some(weights) = constants(inputs, &x.dims()[first..]).filter(|_| alone && eps > 0.0) {
        let (before, behind) = x.dims().split_at(first);
        let dims = [before, &[behind.iter().product()]].concat();
        let rows = network.reshaped(node, &x, &dims)?;
        let made = rows_norm(network, node, &rows, eps, weights)?;
        return Ok(vec![network.reshaped(node, &made, x.dims())?]);
    }
    let [normed, mean, factor] = network.normed(node, &x, &over, eps)?;
    let made = scaled(network, node, inputs, normed)?;
    Ok(vec![made, mean, factor])
}

/// Adds a norm over the last axis that a file writes as several nodes; `end` is the last of them.
pub(in crate::onnx) fn add_norm<'a>(
    network: &mut PartialNetwork<'a>,
    end: Node<'a>,
    value: &Value,
    eps: f32,
    [scale, shift]: [Value; 2],
) -> Result<Vec<Activation>, Refusal> {
    let x = network.operand(end, value)?;
    let Some(last) = x.dims().len().checked_sub(1) else {
        return unsupported("a norm over a single number");
    };
    let inputs = [Some(value.clone()), Some(scale), Some(shift)];
    let inputs = Inputs(&inputs);
    if let Some(weights) = constants(&inputs, &x.dims()[last..]).filter(|_| eps > 0.0) {
        return Ok(vec![rows_norm(network, end, &x, eps, weights)?]);
    }
    let [normed, ..] = network.normed(end, &x, &[last], eps)?;
    Ok(vec![scaled(network, end, &inputs, normed)?])
}

/// Multiplies by input 1, and adds input 2 if it exists.
fn scaled<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    x: Activation,
) -> Added {
    let scaled = network.binary(node, Binary::Mul, &x.into(), inputs.value(1)?)?;
    match inputs.has(2) {
        true => network.binary(node, Binary::Add, &scaled.into(), inputs.value(2)?),
        false => Ok(scaled),
    }
}

pub(super) fn rms_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
    let over: Vec<usize> = (first..rank).collect();
    let square = network.pair(node, Binary::Mul, &x, &x)?;
    let mean = network.reduce(node, Reduction::Mean, &square, &over)?;
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let mean = network.with_number(node, Binary::Add, &mean, eps, false)?;
    let below = network.unary(node, Unary::Sqrt, &mean)?;
    let made = network.pair(node, Binary::Div, &x, &below)?;
    scaled(network, node, inputs, made)
}
