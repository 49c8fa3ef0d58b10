//! Conversions between integers and the numbers they represent.

use std::ops::RangeInclusive;

use crate::network::{Binary, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::fold;
use crate::onnx::kinds::narrow;
use crate::onnx::node::{Node, axis};
use crate::onnx::operators::inputs::{Added, Inputs, unsupported};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

/// UINT8 and INT8 of `TensorProto.DataType`.
const BYTE_TYPES: [i32; 2] = [2, 3];

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
        let found = &constant.dims;
        return unsupported(format!("scales of {found:?}: expected one, or a vector"));
    }
    let mut dims = vec![1; rank];
    dims[axis(node.integer("axis").unwrap_or(1), rank)?] = constant.values.len();
    let values = constant.values.clone();
    Ok(Constant { dims, values }.into())
}

/// Checks the scales in input `n`, which divide or multiply numbers, if they are constant.
pub(super) fn check_scales(
    inputs: &Inputs<'_>,
    n: usize,
    are_divisors: bool,
) -> Result<(), Refusal> {
    match inputs.value(n)? {
        Value::Constant(scales) => Ok(fold::check_scales(n, &scales.to_floats(), are_divisors)?),
        _ => Ok(()),
    }
}

/// Returns the numbers that the integers of input `at` represent, by the scale and the zero point
/// after it.
pub(super) fn numbers<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    at: usize,
) -> Result<Value, Refusal> {
    check_scales(inputs, at + 1, false)?;
    let zero = inputs.has(at + 2).then(|| inputs.value(at + 2));
    let (x, scale, zero) = (inputs.value(at)?, inputs.value(at + 1)?, zero.transpose()?);
    if let (Value::Constant(x), Value::Constant(scale), None | Some(Value::Constant(_))) =
        (x, scale, zero)
    {
        let zero = zero.and_then(|zero| match zero {
            Value::Constant(zero) => Some(zero),
            _ => None,
        });
        return Ok(fold::dequantised(node, &[Some(x), Some(scale), zero])?.into());
    }
    let x = network.operand(node, x)?.typed(NumberType::Floats);
    if network.is_held_as_numbers(node, at) {
        return Ok(x.into());
    }
    let rank = x.dims().len();
    let scale = along(scale, node, rank)?;
    let mut x = Value::from(x);
    if let Some(zero) = zero {
        let zero = along(zero, node, rank)?;
        x = network.binary(node, Binary::Sub, &x, &zero)?.into();
    }
    network
        .binary(node, Binary::Mul, &x, &scale)
        .map(Value::from)
}

/// Refuses scales of blocks, which constants alone may have.
fn check_blocks(node: Node<'_>) -> Result<(), Refusal> {
    match node.integer("block_size").unwrap_or(0) {
        0 => Ok(()),
        _ => unsupported("scales per block (block_size)"),
    }
}

pub(in crate::onnx::operators) fn dequantise<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    check_blocks(node)?;
    let x = numbers(network, node, inputs, 0)?;
    network.operand(node, &x)
}

pub(in crate::onnx::operators) fn quantise<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    check_blocks(node)?;
    let x = network.input(node, inputs, 0)?;
    quantised(network, node, inputs, &x, 1)
}

/// Returns numbers as integers, by the scale in input `at` and the zero point after it.
pub(super) fn quantised<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    x: &Activation,
    at: usize,
) -> Added {
    check_scales(inputs, at, true)?;
    let bounds = network.integer_bounds(node, at + 1)?;
    if let Some(held) = network.held_as_numbers(node, x, at, &bounds) {
        return held;
    }
    let rank = x.dims().len();
    let scale = along(inputs.value(at)?, node, rank)?;
    let x = x.clone().typed(NumberType::Floats);
    let x = network.binary(node, Binary::Div, &x.into(), &scale)?;
    let mut x = network.unary(node, Unary::Round, &x)?;
    if inputs.has(at + 1) {
        let zero = along(inputs.value(at + 1)?, node, rank)?;
        x = network.binary(node, Binary::Add, &x.into(), &zero)?;
    }
    Ok(bounded(network, node, &x, &bounds)?.typed(NumberType::Integers))
}

pub(super) fn bounded<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    bounds: &RangeInclusive<f32>,
) -> Added {
    let x = network.with_number(node, Binary::Max, x, *bounds.start(), false)?;
    network.with_number(node, Binary::Min, &x, *bounds.end(), false)
}

impl PartialNetwork<'_> {
    /// Returns the range of the integers that a node makes, whose zero point is input `zero`.
    pub(in crate::onnx) fn integer_bounds(
        &self,
        node: Node<'_>,
        zero: usize,
    ) -> Result<RangeInclusive<f32>, Refusal> {
        let of_zero = node.inputs().get(zero);
        let of_zero = of_zero.and_then(|name| self.element_type(name));
        let said = node.integer("output_dtype").filter(|t| *t != 0);
        let of_others = || self.bytes_read(node).map(i64::from);
        let known = said.or(of_zero.map(i64::from)).or_else(of_others);
        let element_type = known.unwrap_or(2);
        match narrow(element_type as i32) {
            Some((least, count)) => Ok(least..=least + count - 1.0),
            None => unsupported(format!("integers of element type {element_type}")),
        }
    }

    /// Returns the element type of the bytes that an operator of ONNX Runtime reads, or `None` if
    /// it reads no bytes. Its answer has the same type if its zero point is left out.
    fn bytes_read(&self, node: Node<'_>) -> Option<i32> {
        node.contrib()?;
        let types = node
            .inputs()
            .iter()
            .filter_map(|name| self.element_type(name));
        types.into_iter().find(|found| BYTE_TYPES.contains(found))
    }

    /// Returns the integers of a node that quantises constants, or `None` if it is another one.
    pub(in crate::onnx) fn quantised_constant(
        &self,
        node: Node<'_>,
        inputs: &[Option<Value>],
    ) -> Option<Result<Vec<Constant>, NodeFault>> {
        if node.operator() != Some("QuantizeLinear") {
            return None;
        }
        let inputs_of = Inputs(inputs);
        let given = inputs_of.constants();
        let mut pairs = given.iter().zip(inputs);
        if pairs.any(|(c, v)| c.is_none() && v.is_some()) {
            return None;
        }
        let bounds = self.integer_bounds(node, 2).ok()?;
        Some(fold::quantised(node, &given, &bounds).map(|made| vec![made]))
    }
}
