//! Integers that stand for numbers: `(integer − zero) · scale`.

mod held;
mod linear;
mod numbers;

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

pub(super) use linear::{
    chosen, convolution as linear_convolution, function, gemm, joined, multiplied, pool,
    product as linear_product, shares, sum,
};
use numbers::{bounded, check_scales};
pub(super) use numbers::{dequantise, quantise};

/// The least and the largest byte.
const BYTES: (f32, f32) = (0.0, 255.0);

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
    // Zeros alone have no range, and are 0 by any scale.
    let scale = network.by(node, Binary::Max, &scale, f32::MIN_POSITIVE, false)?;
    let zero = network.pair(node, Binary::Div, &least, &scale)?;
    let zero = network.unary(node, Unary::Neg, &zero)?;
    let zero = network.unary(node, Unary::Round, &zero)?;
    let zero = bounded(network, node, &zero, BYTES)?;
    let made = network.pair(node, Binary::Div, &x, &scale)?;
    let made = network.unary(node, Unary::Round, &made)?;
    let made = network.pair(node, Binary::Add, &made, &zero)?;
    let made = bounded(network, node, &made, BYTES)?;
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
    if let Some(scale) = scale {
        check_scales(inputs, scale, false)?;
    }
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
