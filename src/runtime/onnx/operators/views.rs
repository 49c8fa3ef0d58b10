//! The same values under other dimensions.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Op, Shape};
use crate::onnx::error::NodeFault;
use crate::onnx::fold::axes;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{Activation, DimOrder, PartialNetwork, Refusal};
use crate::onnx::shapes::{reshape_dims, squeeze_dims, unsqueeze_dims};
use crate::onnx::tensor::Constant;

/// Returns the input under other dimensions. An image is flattened first; only its batch may
/// be kept apart.
fn view<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    dims: Vec<usize>,
) -> Added {
    if dims == x.dims {
        return Ok(x.clone());
    }
    if let Some(order) = regrouped(network.shape(x.id), x.order, &dims) {
        let id = x.id;
        return Ok(Activation { id, dims, order });
    }
    if x.order != DimOrder::ChannelsFirst {
        return unsupported(format!("{:?} in another order as {dims:?}", x.dims));
    }
    let is_image = matches!(network.shape(x.id), Shape::Image { .. });
    let values: usize = x.dims.iter().product();
    let keeps_rows = dims.first() == Some(&1);
    match dims.as_slice() {
        _ if !keeps_rows => unsupported(format!("{:?} as {dims:?} mixes samples", x.dims)),
        &[_, features] if is_image && features == values => {
            let id = network.layer(node, Op::Flatten, &[x.id], Vec::new())?;
            Ok(Activation::new(id, dims))
        }
        _ if is_image => unsupported(format!("an image of {:?} as {dims:?}", x.dims)),
        _ => Ok(Activation::new(x.id, dims)),
    }
}

/// Returns the order in which an image is seen as `dims`, if those only split its channels into
/// groups, or join them again.
fn regrouped(shape: Shape, from: DimOrder, dims: &[usize]) -> Option<DimOrder> {
    let Shape::Image {
        channels,
        height,
        width,
    } = shape
    else {
        return None;
    };
    match (from, dims) {
        (DimOrder::ChannelsFirst, &[1, groups, each, h, w])
            if (h, w) == (height, width) && groups.checked_mul(each) == Some(channels) =>
        {
            Some(DimOrder::Grouped)
        }
        (DimOrder::Grouped, &[1, c, h, w]) if (c, h, w) == (channels, height, width) => {
            Some(DimOrder::ChannelsFirst)
        }
        _ => None,
    }
}

/// Turns an image channels-last or back, which is another view of it, or shuffles its groups.
pub(super) fn transpose<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let rank = x.dims.len() as i64;
    let reversed: Vec<i64> = (0..rank).rev().collect();
    let permutation = node.integers("perm").unwrap_or(&reversed);
    let along = permutation.iter().map(|a| axis(*a, x.dims.len()));
    let along: Vec<usize> = along.collect::<Result<_, _>>()?;
    let mut sorted = along.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..x.dims.len()) {
        let why = format!("{permutation:?} are not the axes of {:?}", x.dims);
        return Err(NodeFault::Shapes(why).into());
    }
    let dims: Vec<usize> = along.iter().map(|&a| x.dims[a]).collect();
    let is_image = matches!(network.shape(x.id), Shape::Image { .. });
    let is_row = !is_image && x.dims.iter().filter(|d| **d != 1).count() <= 1;
    let turned = |order| Activation {
        id: x.id,
        dims: dims.clone(),
        order,
    };
    match (x.order, along.as_slice()) {
        (order, [0, others @ ..]) if is_row || others.is_sorted() => Ok(turned(order)),
        (DimOrder::ChannelsFirst, [0, 2, 3, 1]) if is_image => Ok(turned(DimOrder::ChannelsLast)),
        (DimOrder::ChannelsLast, [0, 3, 1, 2]) => Ok(turned(DimOrder::ChannelsFirst)),
        (DimOrder::Grouped, [0, 2, 1, 3, 4]) => {
            let groups = x.dims[1];
            let id = network.layer(node, Op::ChannelShuffle { groups }, &[x.id], Vec::new())?;
            Ok(Activation {
                id,
                ..turned(x.order)
            })
        }
        _ => unsupported(format!("{:?} in the order {permutation:?}", x.dims)),
    }
}

pub(super) fn flatten<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    if axis(node.integer("axis").unwrap_or(1), x.dims.len())? != 1 {
        return unsupported("an axis other than 1, which mixes samples");
    }
    let values = x.dims.iter().product();
    view(network, node, x, vec![1, values])
}

/// The target is an attribute before opset 5 and an input after.
pub(super) fn reshape<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let target = inputs.constant(1)?.and_then(Constant::as_integers);
    let target = target.ok_or(NodeFault::NoInput(1))?;
    let dims = reshape_dims(&x.dims, target)?;
    view(network, node, x, dims)
}

pub(super) fn squeeze<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let written = axes(node, &inputs.constants());
    // Without axes a batch of one would vanish with them.
    let Some(written) = written else {
        return unsupported("no axes, so that the batch may vanish");
    };
    let dims = squeeze_dims(&x.dims, Some(&written))?;
    behind_the_batch(&written, x.dims.len())?;
    view(network, node, x, dims)
}

pub(super) fn unsqueeze<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.activation(0)?;
    let written = axes(node, &inputs.constants()).unwrap_or_default();
    let dims = unsqueeze_dims(&x.dims, &written)?;
    behind_the_batch(&written, dims.len())?;
    view(network, node, x, dims)
}

/// Refuses axes among which is the first, the batch's: it is seen as 1 here and may be more.
fn behind_the_batch(axes: &[i64], rank: usize) -> Result<(), Refusal> {
    match axes.iter().any(|a| *a == 0 || *a == -(rank as i64)) {
        true => unsupported("axis 0, which is the batch's"),
        false => Ok(()),
    }
}
