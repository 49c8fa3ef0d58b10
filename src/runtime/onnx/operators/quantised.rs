//! Integers that stand for numbers: `(integer − zero) · scale`.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::kinds::narrow;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// Returns a scale or zero for each position of an axis under `rank` dimensions.
fn along(value: &Value, node: Node<'_>, rank: usize) -> Result<Value, Refusal> {
    let Value::Constant(constant) = value else {
        return Ok(value.clone());
    };
    if constant.values.len() == 1 {
        let dims = Vec::new();
        let values = constant.values.clone();
        return Ok(Constant { dims, values }.into());
    }
    if constant.dims.len() != 1 {
        return unsupported(format!("scales of {:?}", constant.dims));
    }
    let mut dims = vec![1; rank];
    dims[axis(node.integer("axis").unwrap_or(1), rank)?] = constant.values.len();
    let values = constant.values.clone();
    Ok(Constant { dims, values }.into())
}

pub(super) fn dequantize<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    if node.integer("block_size").unwrap_or(0) != 0 {
        return unsupported("scales of blocks");
    }
    let x = network.input(node, inputs, 0)?.typed(NumberType::Floats);
    let rank = x.dims().len();
    let scale = along(inputs.value(1)?, node, rank)?;
    let mut x = Value::from(x);
    if inputs.has(2) {
        let zero = along(inputs.value(2)?, node, rank)?;
        x = network.binary(node, Binary::Sub, &x, &zero)?.into();
    }
    network.binary(node, Binary::Mul, &x, &scale)
}

/// Returns the least and the largest integer of a type, by its number in `TensorProto.DataType`.
const fn range(element_type: i64) -> Option<(f32, f32)> {
    match narrow(element_type as i32) {
        Some((least, count)) => Some((least, least + count - 1.0)),
        None => None,
    }
}

pub(super) fn quantize<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let zero_type = node
        .inputs()
        .get(2)
        .and_then(|name| network.element_type(name));
    let to = node.integer("output_dtype").filter(|t| *t != 0);
    let to = to.or(zero_type.map(i64::from)).unwrap_or(2);
    let Some((least, most)) = range(to) else {
        return unsupported(format!("integers of element type {to}"));
    };
    if node.integer("block_size").unwrap_or(0) != 0 {
        return unsupported("scales of blocks");
    }
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let scale = along(inputs.value(1)?, node, rank)?;
    let x = network.binary(node, Binary::Div, &x.into(), &scale)?;
    let mut x = network.unary(node, Unary::Round, &x)?;
    if inputs.has(2) {
        let zero = along(inputs.value(2)?, node, rank)?;
        x = network.binary(node, Binary::Add, &x.into(), &zero)?;
    }
    Ok(bounded(network, node, &x, least, most)?.typed(NumberType::Integers))
}

fn bounded<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    least: f32,
    most: f32,
) -> Added {
    let x = network.by(node, Binary::Max, x, least, false)?;
    network.by(node, Binary::Min, &x, most, false)
}

/// Integers from 0 to 255, and the scale and the zero that suit the values.
pub(super) fn dynamic<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let over: Vec<usize> = (0..x.dims().len()).collect();
    let most = network.reduce(node, Reduction::Max, &x, &over)?;
    let most = network.by(node, Binary::Max, &most, 0.0, false)?;
    let least = network.reduce(node, Reduction::Min, &x, &over)?;
    let least = network.by(node, Binary::Min, &least, 0.0, false)?;
    let scale = network.pair(node, Binary::Sub, &most, &least)?;
    let scale = network.by(node, Binary::Div, &scale, 255.0, false)?;
    let zero = network.pair(node, Binary::Div, &least, &scale)?;
    let zero = network.unary(node, Unary::Neg, &zero)?;
    let zero = network.unary(node, Unary::Round, &zero)?;
    let zero = bounded(network, node, &zero, 0.0, 255.0)?;
    let made = network.pair(node, Binary::Div, &x, &scale)?;
    let made = network.unary(node, Unary::Round, &made)?;
    let made = network.pair(node, Binary::Add, &made, &zero)?;
    let made = bounded(network, node, &made, 0.0, 255.0)?;
    let [scale, zero] = [scale, zero].map(|x| network.reshaped(node, &x, &[]));
    let integers = NumberType::Integers;
    Ok(vec![made.typed(integers), scale?, zero?.typed(integers)])
}

pub(super) fn product<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut operands = Vec::new();
    for n in [0, 1] {
        let x = Value::from(network.input(node, inputs, n)?.typed(NumberType::Floats));
        let x = match inputs.has(n + 2) {
            true => {
                let zero = for_lines(network, node, inputs.value(n + 2)?, n == 0)?;
                network.binary(node, Binary::Sub, &x, &zero)?
            }
            false => network.operand(node, &x)?,
        };
        operands.push(x);
    }
    let made = network.product(node, &operands[0], &operands[1])?;
    Ok(made.typed(NumberType::Integers))
}

/// Returns constant weights `(integer − zero) · scale`, one of each for the first axis or one
/// for all.
fn weights(
    inputs: &Inputs<'_>,
    [at, scale, zero]: [Option<usize>; 3],
) -> Result<Constant, Refusal> {
    let of = |n: Option<usize>| match n.filter(|n| inputs.has(*n)) {
        Some(n) => inputs.constant(n),
        None => Ok(None),
    };
    let Some(weights) = of(at)? else {
        return unsupported("weights that are not constant");
    };
    let each = |n: Option<usize>, default: f32| -> Result<Vec<f32>, Refusal> {
        Ok(of(n)?.map_or_else(|| vec![default], Constant::to_floats))
    };
    let (scales, zeros) = (each(scale, 1.0)?, each(zero, 0.0)?);
    let rows = weights.dims.first().copied().unwrap_or(1).max(1);
    let fits = |all: &[f32]| all.len() == 1 || all.len() == rows;
    if !fits(&scales) || !fits(&zeros) {
        return unsupported("scales that are not one for each row of weights");
    }
    let size = (weights.values.len() / rows).max(1);
    let own = |all: &[f32], row: usize| all[if all.len() == 1 { 0 } else { row }];
    let values = weights.to_floats().into_iter().enumerate();
    let values = values.map(|(n, v)| (v - own(&zeros, n / size)) * own(&scales, n / size));
    Ok(Constant {
        dims: weights.dims.clone(),
        values: Values::Floats(values.collect()),
    })
}

/// Returns input `at` less its zero, as floats.
fn centred<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    (at, zero): (usize, usize),
) -> Added {
    let x = network.input(node, inputs, at)?.typed(NumberType::Floats);
    match inputs.has(zero) {
        true => network.binary(node, Binary::Sub, &x.into(), inputs.value(zero)?),
        false => Ok(x),
    }
}

pub(super) fn convolution<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = centred(network, node, inputs, (0, 2))?;
    let weights = weights(inputs, [Some(1), None, Some(3)])?;
    let floats = [Some(x.into()), Some(weights.into())];
    let made = super::windows::conv(network, node, &Inputs(&floats))?;
    Ok(made.typed(NumberType::Integers))
}

pub(super) fn linear_convolution<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = centred(network, node, inputs, (0, 2))?;
    let x = network.binary(node, Binary::Mul, &x.into(), inputs.value(1)?)?;
    let weight = weights(inputs, [Some(3), Some(4), Some(5)])?;
    let mut floats = vec![Some(Value::from(x)), Some(weight.into())];
    if let Some(bias) = inputs.constant(8)? {
        // Biases are in units of both scales.
        let (Some(of_x), Some(of_weights)) = (inputs.number(1)?, inputs.constant(4)?) else {
            return unsupported("scales that are not constant");
        };
        let scales = of_weights.to_floats();
        let scale = |n: usize| of_x * scales.get(n).or(scales.first()).copied().unwrap_or(1.0);
        let values = bias
            .to_floats()
            .into_iter()
            .enumerate()
            .map(|(n, v)| v * scale(n));
        let (dims, values) = (bias.dims.clone(), Values::Floats(values.collect()));
        floats.push(Some(Constant { dims, values }.into()));
    }
    let made = super::windows::conv(network, node, &Inputs(&floats))?;
    requantised(network, node, inputs, &made)
}

pub(super) fn linear_product<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut operands = Vec::new();
    for (at, is_row) in [(0, true), (3, false)] {
        let x = network.input(node, inputs, at)?.typed(NumberType::Floats);
        let mut x = Value::from(x);
        for (n, kind) in [(at + 2, Binary::Sub), (at + 1, Binary::Mul)] {
            let by = for_lines(network, node, inputs.value(n)?, is_row)?;
            x = network.binary(node, kind, &x, &by)?.into();
        }
        operands.push(network.operand(node, &x)?);
    }
    let made = network.product(node, &operands[0], &operands[1])?;
    requantised(network, node, inputs, &made)
}

/// Returns scales or zeros, where there is one for each row under the rank of a matrix.
fn for_lines<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    value: &Value,
    is_row: bool,
) -> Result<Value, Refusal> {
    let count = value.dims().unwrap_or_default().iter().product::<usize>();
    if count == 1 {
        let value = network.operand(node, value)?;
        return Ok(network.reshaped(node, &value, &[])?.into());
    }
    if value.dims().is_some_and(|dims| dims.len() > 1) {
        return Ok(value.clone());
    }
    let value = network.operand(node, value)?;
    let dims = if is_row { [count, 1] } else { [1, count] };
    Ok(network.reshaped(node, &value, &dims)?.into())
}

/// Returns floats as integers by the scale and the zero in inputs 6 and 7.
fn requantised<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    x: &Activation,
) -> Added {
    let zero_type = node
        .inputs()
        .get(7)
        .and_then(|name| network.element_type(name));
    let Some((least, most)) = range(zero_type.map_or(2, i64::from)) else {
        return unsupported("integers of more than 16 bits");
    };
    let x = network.binary(node, Binary::Div, &x.clone().into(), inputs.value(6)?)?;
    let mut x = network.unary(node, Unary::Round, &x)?;
    if inputs.has(7) {
        x = network.binary(node, Binary::Add, &x.into(), inputs.value(7)?)?;
    }
    Ok(bounded(network, node, &x, least, most)?.typed(NumberType::Integers))
}
