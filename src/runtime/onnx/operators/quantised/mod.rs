//! Integers that represent numbers: `(integer − zero) · scale`.

mod dynamic;
mod held;
mod linear;
mod numbers;
mod scaled;

use super::inputs::{Added, Inputs, unsupported};
use crate::network::Binary;
use crate::onnx::activation::{NumberType, Value};
use crate::onnx::floats::Floats;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

pub(super) use dynamic::{dynamic, product};
pub(super) use linear::{
    chosen, convolution as linear_convolution, function, gemm, joined, multiplied, pool,
    product as linear_product, shares, sum,
};
use numbers::check_scales;
pub(super) use numbers::{dequantise, quantise};

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
        return unsupported("its weights are not constant");
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
        return unsupported("expected one scale for each row of weights");
    }
    let size = (weights.values.len() / rows).max(1);
    let in_file = match &weights.values {
        Values::Integers(integers) => integers.numbers(size, &scales, &zeros),
        _ => None,
    };
    let own = |all: &[f32], row: usize| all[if all.len() == 1 { 0 } else { row }];
    let made = || {
        let values = weights.to_floats().into_iter().enumerate();
        values.map(|(n, v)| (v - own(&zeros, n / size)) * own(&scales, n / size))
    };
    let values = in_file.map_or_else(|| made().collect(), Floats::InFile);
    Ok(Constant {
        dims: weights.dims.clone(),
        values: Values::Floats(values),
    })
}

pub(super) fn convolution<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut x = network.input(node, inputs, 0)?.typed(NumberType::Floats);
    if inputs.has(2) {
        x = network.binary(node, Binary::Sub, &x.into(), inputs.value(2)?)?;
    }
    let weights = weights(inputs, [Some(1), None, Some(3)])?;
    let floats = [Some(x.into()), Some(weights.into())];
    let made = super::windows::conv(network, node, &Inputs(&floats))?;
    Ok(made.typed(NumberType::Integers))
}

/// Returns scales or zeros. If there is one for each row, they get the rank of a matrix.
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
