//! The number of values that a folded node would make, checked before it makes them.

use crate::onnx::activation::Value;
use crate::onnx::error::NodeFault;
use crate::onnx::kinds;
use crate::onnx::node::{Node, axis};
use crate::onnx::shapes::{broadcast_dims, sizes};
use crate::onnx::tensor::{Constant, FLOATS};

/// Returns the number of values that a node makes of constants, or 0 if its answer is not larger
/// than an input.
///
/// # Errors
/// The dimensions do not fit.
pub(in crate::onnx) fn growth(
    node: Node<'_>,
    inputs: &[Option<Value>],
) -> Result<usize, NodeFault> {
    let constant = |n: usize| match inputs.get(n) {
        Some(Some(Value::Constant(constant))) => Some(constant),
        _ => None,
    };
    let operator = node.operator().unwrap_or_default();
    // A dimension of 0 would hide the size of the others.
    let product = |sizes: &[usize]| {
        let each = sizes.iter().map(|s| *s.max(&1));
        each.fold(1, usize::saturating_mul)
    };
    let count = |n: usize| constant(n).map_or(0, |c| product(&c.dims));
    Ok(match (operator, constant(1)) {
        ("Expand", Some(target)) => {
            let own = constant(0).map_or(&[][..], |x| &x.dims);
            product(&broadcast_dims(own, &sizes(target)?)?)
        }
        ("Tile", Some(repeats)) => product(&sizes(repeats)?).saturating_mul(count(0)),
        ("OneHot", Some(depth)) => {
            let depth = depth.as_scalar().unwrap_or(0.0).max(0.0) as usize;
            depth.saturating_mul(count(0))
        }
        ("Gather", Some(_)) => {
            let own = constant(0).map_or(&[][..], |x| &x.dims);
            let along = axis(node.integer("axis").unwrap_or(0), own.len())?;
            (count(0) / own[along].max(1)).saturating_mul(count(1))
        }
        ("Where", _) => product(&broadcast(inputs)?),
        ("EyeLike", _) => count(0),
        // A position of each axis.
        ("NonZero", _) => {
            let rank = constant(0).map_or(0, |x| x.dims.len());
            count(0).saturating_mul(rank.max(1))
        }
        ("Range", _) => steps([constant(0), constant(1), constant(2)]),
        // Floats have a bound of their own.
        ("ConstantOfShape", _) if !is_filled_with_floats(node) => match constant(0) {
            Some(shape) => product(&sizes(shape)?),
            None => 0,
        },
        _ if kinds::binary(operator).is_some() => product(&broadcast(inputs)?),
        _ => 0,
    })
}

/// Returns whether `ConstantOfShape` makes floats.
pub(in crate::onnx) fn is_filled_with_floats(node: Node<'_>) -> bool {
    let value = node.attribute("value").and_then(|a| a.t.as_ref());
    value.is_none_or(|tensor| tensor.data_type == Some(FLOATS))
}

/// Returns the values of a range from a start to a limit by a step.
fn steps([start, limit, step]: [Option<&Constant>; 3]) -> usize {
    let number = |of: Option<&Constant>| of.and_then(Constant::as_scalar).map_or(0.0, f64::from);
    let steps = (number(limit) - number(start)) / number(step);
    match steps.is_finite() {
        true => steps.ceil().max(0.0) as usize,
        // It is refused as an endless range.
        false => 0,
    }
}

/// Returns the dimensions that all constants are repeated to.
fn broadcast(inputs: &[Option<Value>]) -> Result<Vec<usize>, NodeFault> {
    let mut constants = inputs.iter().flatten().filter_map(|value| match value {
        Value::Constant(constant) => Some(constant),
        _ => None,
    });
    let dims = |all: Vec<usize>, c: &Constant| broadcast_dims(&all, &c.dims);
    constants.try_fold(Vec::new(), dims)
}
