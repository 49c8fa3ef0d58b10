//! Tensors with a border, and tensors repeated.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Border, Dims, TensorOp};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::kept;
use crate::onnx::layout::{Layout, inserted};
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::PartialNetwork;
use crate::onnx::shapes::{broadcast_dims, sizes};
use crate::onnx::tensor::{Constant, Values};

impl<'a> PartialNetwork<'a> {
    /// Adds the repetition of `x` to `dims`, as in NumPy.
    pub(super) fn expand(&mut self, node: Node<'a>, x: &Activation, dims: &[usize]) -> Added {
        let dims = broadcast_dims(x.dims(), dims)?;
        let raised = x.with_layout(x.layout.with_rank(dims.len()));
        if dims == raised.dims() {
            return Ok(raised);
        }
        let new: Vec<usize> = (0..dims.len()).filter(|&a| dims[a] > 1).collect();
        let axes = inserted(raised.layout.order(), &new);
        let from = self.stored(node, &raised, &axes)?;
        let layout = Layout::new(dims, &axes);
        let op = TensorOp::Expand {
            dims: Dims::new(&layout.sizes(&axes))?,
        };
        let id = self.tensor(node, op, &[from])?;
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }

    /// Adds a border before and after each axis.
    pub(super) fn pad(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        pads: &[(usize, usize)],
        border: Border,
    ) -> Added {
        let padded: Vec<usize> = (0..pads.len()).filter(|&a| pads[a] != (0, 0)).collect();
        if padded.is_empty() {
            return Ok(x.clone());
        }
        let axes = x.layout.axes_with(&padded);
        let from = self.stored(node, x, &axes)?;
        let before: Vec<usize> = axes.iter().map(|&a| pads[a].0).collect();
        let after: Vec<usize> = axes.iter().map(|&a| pads[a].1).collect();
        let op = TensorOp::Pad {
            before: Dims::new(&before)?,
            after: Dims::new(&after)?,
            border,
        };
        let id = self.tensor(node, op, &[from])?;
        let sizes = x.dims().iter().zip(pads);
        let dims = sizes.map(|(size, (before, after))| size + before + after);
        let layout = Layout::new(dims.collect(), &axes);
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }
}

pub(super) fn expand<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let target = inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?;
    network.expand(node, &x, &sizes(target)?)
}

/// Each axis `n` repeated `r` times is `n` repeated along an axis of `r` before it.
pub(super) fn tile<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let repeats = sizes(inputs.constant(1)?.ok_or(NodeFault::NoInput(1))?)?;
    if repeats.len() != x.dims().len() {
        let why = format!("repeats of {repeats:?} do not fit {:?}", x.dims());
        return Err(NodeFault::Shapes(why).into());
    }
    let pairs = || x.dims().iter().zip(&repeats);
    let once: Vec<usize> = pairs().flat_map(|(&size, _)| [1, size]).collect();
    let often: Vec<usize> = pairs().flat_map(|(&size, &r)| [r, size]).collect();
    let all = pairs()
        .map(|(size, r)| size.saturating_mul(*r))
        .collect::<Vec<_>>();
    let made = network.reshaped(node, &x, &once)?;
    let made = network.expand(node, &made, &often)?;
    network.reshaped(node, &made, &all)
}

/// Pads are an attribute before opset 11 and an input after, for the axes of another input
/// from opset 18 on.
pub(super) fn pad<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let mut x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let written = node.integers("pads").or(inputs.integers(1)?);
    let written = written.ok_or(NodeFault::NoInput(1))?;
    let axes: Vec<usize> = match inputs.integers(3)? {
        Some(axes) => axes
            .iter()
            .map(|a| axis(*a, rank))
            .collect::<Result<_, _>>()?,
        None => (0..rank).collect(),
    };
    if written.len() != 2 * axes.len() {
        let why = format!("pads of {written:?} do not fit {} axes", axes.len());
        return Err(NodeFault::Shapes(why).into());
    }
    let value = node.float("value").or(match inputs.has(2) {
        true => inputs.number(2)?,
        false => None,
    });
    let border = match node.text("mode").unwrap_or(b"constant") {
        b"constant" => Border::Constant(value.unwrap_or(0.0)),
        b"edge" => Border::Edge,
        b"reflect" => Border::Reflect,
        other => return unsupported(format!("border mode {}", String::from_utf8_lossy(other))),
    };
    let (before, after) = written.split_at(axes.len());
    let mut pads = vec![(0, 0); rank];
    for ((&axis, &before), &after) in axes.iter().zip(before).zip(after) {
        let bound = |pad: i64| usize::try_from(pad.unsigned_abs()).unwrap_or(usize::MAX);
        let cut = (bound(before.min(0)), bound(after.min(0)));
        let size = x.dims()[axis];
        let left = size.saturating_sub(cut.0).saturating_sub(cut.1);
        x = network.slice(node, &x, axis, cut.0.min(size), left, 1)?;
        let more = (bound(before.max(0)), bound(after.max(0)));
        if more.0.max(more.1) > u32::MAX as usize {
            return Err(NodeFault::Shapes(format!("pads of {written:?}")).into());
        }
        pads[axis] = more;
    }
    network.pad(node, &x, &pads, border)
}

/// Keeps a triangle of the last two axes.
pub(super) fn triangle<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let shift = match inputs.has(1) {
        true => inputs.integers(1)?.and_then(|k| k.first().copied()),
        false => None,
    };
    let matrix = &x.dims()[x.dims().len().saturating_sub(2)..];
    let upper = node.integer("upper").unwrap_or(1) != 0;
    let mask = Constant {
        dims: matrix.to_vec(),
        values: Values::Booleans(kept(matrix, shift.unwrap_or(0), upper)),
    };
    let mask = network.operand(node, &Value::Constant(mask))?;
    network.where_else(node, &mask, &x, 0.0)
}
