//! Some values of an axis by their rank or a mask.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::TensorOp;
use crate::onnx::activation::{Activation, NumberType};
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

/// How many are taken is an attribute before opset 10, and a constant input after.
pub(super) fn top_k<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let along = axis(node.integer("axis").unwrap_or(-1), x.dims().len())?;
    let written = match node.integer("k") {
        Some(count) => Some(count),
        None => inputs.integers(1)?.and_then(|k| k.first().copied()),
    };
    let size = x.dims()[along];
    let count = written.and_then(|k| usize::try_from(k).ok());
    let Some(count) = count.filter(|k| (1..=size).contains(k)) else {
        return unsupported(format!("k is {written:?} of {size} values"));
    };
    let largest = node.integer("largest").unwrap_or(1) != 0;
    let axes = x.layout.ending_in(&[along]);
    let from = network.stored(node, &x, &axes)?;
    let mut dims = x.dims().to_vec();
    dims[along] = count;
    let mut best = |positions: bool| {
        let op = TensorOp::TopK {
            count,
            largest,
            positions,
        };
        let id = network.tensor(node, op, &[from])?;
        Ok::<_, Refusal>(Activation {
            id,
            ..x.with_layout(Layout::new(dims.clone(), &axes))
        })
    };
    let values = best(false)?;
    match node.outputs().get(1) {
        Some(name) if !name.is_empty() => Ok(vec![values, best(true)?.typed(NumberType::Integers)]),
        _ => Ok(vec![values]),
    }
}

/// `Compress`: the positions along an axis at which a constant is true.
pub(super) fn compressed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut x = network.input(node, inputs, 0)?;
    let condition = inputs
        .constant(1)?
        .map(Constant::to_floats)
        .unwrap_or_default();
    let along = match node.integer("axis") {
        Some(along) => axis(along, x.dims().len())?,
        None => {
            let count = x.dims().iter().product();
            x = network.reshaped(node, &x, &[count])?;
            0
        }
    };
    let kept = condition
        .iter()
        .enumerate()
        .filter(|(_, holds)| **holds != 0.0);
    let kept = kept.map(|(at, _)| at as i64).collect();
    network.take(node, &x, along, &Constant::integers(kept))
}
