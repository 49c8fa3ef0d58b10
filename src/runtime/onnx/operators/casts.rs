//! Casts: values as numbers of another element type, rounded to it.
//!
//! A network computes in float32. Values that a file computes in 16 bits are rounded at a cast: to
//! the type before the cast, because float32 may hold numbers between its values, and to the type
//! after it.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{NodeId, Op, TensorOp, Unary};
use crate::onnx::activation::{Activation, NumberType, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::fold;
use crate::onnx::kinds::{narrow, rounding};
use crate::onnx::node::Node;
use crate::onnx::partial::PartialNetwork;
use crate::onnx::tensor::Constant;

/// `Cast` and `CastLike`.
pub(super) fn cast<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let (from, to) = (network.first_type(node), network.cast_type(node));
    let numbers = match (to, inputs.0.get(1)) {
        (Some(to @ (1..=7 | 9..=13 | 16)), _) => NumberType::from_element_type(to),
        (Some(to), _) => return unsupported(format!("a cast to element type {to}")),
        (None, Some(Some(Value::Constant(like)))) => (&like.values).into(),
        (None, Some(Some(Value::Activation(like)))) => like.numbers,
        (None, _) => return unsupported(""),
    };
    if from.is_some() && from == to {
        return Ok(x);
    }
    let x = match from.and_then(rounding) {
        Some(kind) if !network.is_rounded_to(&x, kind) => network.unary(node, kind, &x)?,
        _ => x,
    };
    let made = match (x.numbers, numbers) {
        (NumberType::Floats, NumberType::Integers) => {
            let whole = network.unary(node, Unary::Truncate, &x)?;
            network.wrapped(node, &whole, to.and_then(narrow))?
        }
        (NumberType::Integers, NumberType::Integers) => {
            network.wrapped(node, &x, to.and_then(narrow))?
        }
        (NumberType::Floats | NumberType::Integers, NumberType::Booleans) => {
            network.unary(node, Unary::NotZero, &x)?
        }
        (NumberType::Floats | NumberType::Integers, NumberType::Floats) => {
            match to.and_then(rounding) {
                Some(kind) => network.unary(node, kind, &x)?,
                None => x,
            }
        }
        _ => x,
    };
    Ok(made.typed(numbers))
}

impl<'a> PartialNetwork<'a> {
    /// Returns the element type of a node's first input, if it is known.
    fn first_type(&self, node: Node<'a>) -> Option<i32> {
        node.inputs()
            .first()
            .and_then(|name| self.element_type(name))
    }

    /// Returns the element type that a cast makes, if it is known.
    fn cast_type(&self, node: Node<'a>) -> Option<i32> {
        match node.operator() {
            Some("CastLike") => self.element_type(node.inputs().get(1)?),
            _ => i32::try_from(node.integer("to").unwrap_or_default()).ok(),
        }
    }

    /// Returns the constant that a cast makes of a constant, or `None` if the node is not a cast of
    /// a constant to a known type.
    pub(in crate::onnx) fn cast_constant(
        &self,
        node: Node<'a>,
        inputs: &[Option<Value>],
    ) -> Option<Result<Vec<Constant>, NodeFault>> {
        let is_cast = matches!(node.operator(), Some("Cast" | "CastLike"));
        let (true, Some(Some(Value::Constant(x)))) = (is_cast, inputs.first()) else {
            return None;
        };
        let to = self.cast_type(node)?;
        let from = self.first_type(node).filter(|from| *from != to);
        let rounded = match from.filter(|from| rounding(*from).is_some()) {
            Some(from) => fold::cast(x, from.into()),
            None => Ok(x.clone()),
        };
        let made = rounded.and_then(|x| fold::cast(&x, to.into()));
        Some(made.map(|constant| vec![constant]))
    }

    /// Returns whether a value holds only numbers of a 16-bit type: it is part of a sample, or was
    /// rounded.
    fn is_rounded_to(&self, x: &Activation, kind: Unary) -> bool {
        let mut at = x.id;
        loop {
            if at == NodeId::INPUT {
                return true;
            }
            let Some(node) = self.maker(at) else {
                return false;
            };
            match node.op {
                Op::Tensor(TensorOp::Unary { kind: made }) if made == kind => return true,
                Op::Tensor(op) if op.moves_values() => at = node.inputs[0],
                Op::Flatten | Op::Channels { .. } => at = node.inputs[0],
                _ => return false,
            }
        }
    }
}
