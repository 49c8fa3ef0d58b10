//! The same values under other dimensions.

use super::inputs::{Added, Inputs, unsupported};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::{axes, order};
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::PartialNetwork;
use crate::onnx::shapes::{reshape_dims, reshape_kept, squeeze_dims, unsqueeze_dims};

pub(super) fn flatten<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let at = match node.integer("axis").unwrap_or(1) {
        at if at == rank as i64 => rank,
        at => axis(at, rank)?,
    };
    let (before, behind) = x.dims().split_at(at);
    let dims = [before.iter().product(), behind.iter().product()];
    network.reshaped(node, &x, &dims)
}

/// The target is an attribute before opset 5 and an input after.
pub(super) fn reshape<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let target = inputs.integers(1)?.ok_or(NodeFault::NoInput(1))?;
    let dims = reshape_dims(x.dims(), target, reshape_kept(node))?;
    network.reshaped(node, &x, &dims)
}

pub(super) fn squeeze<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let written = axes(node, &inputs.constants());
    if written.is_none() && inputs.has(1) {
        return unsupported("its axes are not constant");
    }
    // The batch axis has size 1 here, and stays.
    let batch = node.inputs().first();
    let batch = batch.and_then(|name| network.batch.as_ref()?.axis(name));
    let dims = match (written, batch) {
        (None, Some(batch)) => {
            let ones = (0..x.dims().len()).filter(|&a| x.dims()[a] == 1 && a != batch);
            let ones: Vec<i64> = ones.map(|a| a as i64).collect();
            squeeze_dims(x.dims(), Some(&ones))?
        }
        (written, _) => squeeze_dims(x.dims(), written.as_deref())?,
    };
    network.reshaped(node, &x, &dims)
}

pub(super) fn unsqueeze<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let Some(written) = axes(node, &inputs.constants()) else {
        return unsupported("its axes are not constant");
    };
    let dims = unsqueeze_dims(x.dims(), &written)?;
    network.reshaped(node, &x, &dims)
}

pub(super) fn transpose<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let order = order(x.dims().len(), node.integers("perm"))?;
    Ok(x.transposed(&order))
}

/// Returns the side of the squares of pixels that are channels of one.
fn block(node: Node<'_>) -> Result<usize, NodeFault> {
    let side = node
        .integer("blocksize")
        .and_then(|b| usize::try_from(b).ok());
    side.filter(|b| *b > 0).ok_or(NodeFault::Attribute {
        name: "blocksize",
        expected: "a whole number of at least 1".into(),
    })
}

pub(super) fn depth_to_space<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let side = block(node)?;
    let &[n, c, h, w] = x.dims() else {
        return unsupported("its input is not a batch of images");
    };
    if !c.is_multiple_of(side.saturating_mul(side)) {
        let why = format!("{c} channels do not divide into blocks of {side}×{side}");
        return Err(NodeFault::Shapes(why).into());
    }
    let left = c / (side * side);
    let by_column = node.text("mode") == Some(b"CRD");
    let (dims, order) = match by_column {
        true => ([n, left, side, side, h, w], [0, 1, 4, 2, 5, 3]),
        false => ([n, side, side, left, h, w], [0, 3, 4, 1, 5, 2]),
    };
    let made = network.reshaped(node, &x, &dims)?.transposed(&order);
    network.reshaped(node, &made, &[n, left, h * side, w * side])
}

pub(super) fn space_to_depth<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let side = block(node)?;
    let &[n, c, h, w] = x.dims() else {
        return unsupported("its input is not a batch of images");
    };
    if !h.is_multiple_of(side) || !w.is_multiple_of(side) {
        let why = format!("{h}×{w} pixels do not divide into blocks of {side}×{side}");
        return Err(NodeFault::Shapes(why).into());
    }
    let dims = [n, c, h / side, side, w / side, side];
    let made = network
        .reshaped(node, &x, &dims)?
        .transposed(&[0, 3, 5, 1, 2, 4]);
    network.reshaped(node, &made, &[n, c * side * side, h / side, w / side])
}
