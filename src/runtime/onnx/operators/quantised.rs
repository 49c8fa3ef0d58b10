//! Integers that stand for numbers: `(integer − zero) · scale`.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

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
    Some(match element_type {
        2 => (0.0, 255.0),
        3 => (-128.0, 127.0),
        4 => (0.0, 65535.0),
        5 => (-32768.0, 32767.0),
        _ => return None,
    })
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
            true => network.binary(node, Binary::Sub, &x, inputs.value(n + 2)?)?,
            false => network.operand(node, &x)?,
        };
        operands.push(x);
    }
    let made = network.product(node, &operands[0], &operands[1])?;
    Ok(made.typed(NumberType::Integers))
}
