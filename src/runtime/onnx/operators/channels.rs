//! Operations on the channels of each pixel: parts of them, and norms across them.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Op, ResponseNorm};
use crate::onnx::error::NodeFault;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{Activation, PartialNetwork, Refusal, Value};
use crate::onnx::select::slices;
use crate::onnx::tensor::Constant;

/// Adds `count` channels of `x` from channel `first` on.
fn part(
    network: &mut PartialNetwork<'_>,
    node: Node<'_>,
    x: &Activation,
    along: usize,
    (first, count): (usize, usize),
) -> Added {
    let mut part = x.clone();
    part.dims[along] = count;
    if count < x.dims[along] {
        part.id = network.layer(node, Op::Channels { first, count }, &[x.id], Vec::new())?;
    }
    Ok(part)
}

/// Returns the axis of the channels of `x`.
fn channels_of(network: &PartialNetwork<'_>, x: &Activation) -> Result<usize, Refusal> {
    let along = x.channel_axis(network.shape(x.id));
    along.map_or_else(|| unsupported(format!("{:?} has no channels", x.dims)), Ok)
}

/// Sizes are an attribute before opset 13 and an input after; without them parts are equal.
pub(super) fn split<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let along = axis(node.integer("axis").unwrap_or(0), x.dims.len())?;
    if along != channels_of(network, x)? {
        return unsupported(format!("{:?} in parts along axis {along}", x.dims));
    }
    let given = inputs.constant(1)?.and_then(Constant::as_integers);
    let written = node.integers("split").or(given);
    let (all, parts) = (x.dims[along], node.outputs().len());
    let sizes = sizes(written, all, parts)?;
    let mut first = 0;
    let mut answer = x.clone();
    for (at, (name, &count)) in node.outputs().iter().zip(&sizes).enumerate() {
        if at == 0 || network.is_read(name) {
            let made = part(network, node, x, along, (first, count))?;
            if at == 0 {
                answer = made;
            } else {
                network.values.insert(name, Value::Activation(made));
            }
        }
        first += count;
    }
    Ok(answer)
}

/// Returns the sizes of `parts` parts of `all` channels.
fn sizes(written: Option<&[i64]>, all: usize, parts: usize) -> Result<Vec<usize>, NodeFault> {
    let each = all.div_ceil(parts.max(1));
    let sizes: Option<Vec<usize>> = match written {
        Some(written) => written.iter().map(|&s| usize::try_from(s).ok()).collect(),
        None => Some(
            (0..parts)
                .map(|part| each.min(all.saturating_sub(part * each)))
                .collect(),
        ),
    };
    let sum = |sizes: &Vec<usize>| sizes.iter().try_fold(0usize, |all, &s| all.checked_add(s));
    let fits = |s: &Vec<usize>| s.len() == parts && !s.contains(&0) && sum(s) == Some(all);
    sizes
        .filter(fits)
        .ok_or_else(|| NodeFault::Shapes(format!("{all} channels in {parts} parts of {written:?}")))
}

pub(super) fn slice<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    let channels = channels_of(network, x)?;
    let positions = slices(&x.dims, node, &inputs.constants())?;
    for (along, positions) in positions.iter().enumerate() {
        let whole = positions.len() == x.dims[along];
        let first = positions.first().copied().unwrap_or_default();
        let in_order = positions.iter().copied().eq(first..first + positions.len());
        if !in_order || positions.is_empty() || (!whole && along != channels) {
            return unsupported(format!("a slice of {:?} along axis {along}", x.dims));
        }
    }
    let kept = &positions[channels];
    part(network, node, x, channels, (kept[0], kept.len()))
}

pub(super) fn response_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    let x = inputs.seen(0)?;
    if channels_of(network, x)? != 1 {
        return unsupported(format!("its input of {:?} is not channels-first", x.dims));
    }
    let size = node.integer("size").unwrap_or_default();
    let norm = ResponseNorm {
        size: usize::try_from(size).unwrap_or_default(),
        alpha: node.float("alpha").unwrap_or(1e-4),
        beta: node.float("beta").unwrap_or(0.75),
        k: node.float("bias").unwrap_or(1.0),
    };
    let id = network.layer(node, Op::LocalResponseNorm(norm), &[x.id], Vec::new())?;
    Ok(Activation { id, ..x.clone() })
}

/// A norm over the last axis, which is the channels' of an image that is seen channels-last.
pub(super) fn layer_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
) -> Added {
    if node
        .outputs()
        .iter()
        .skip(1)
        .any(|name| network.is_read(name))
    {
        return unsupported("its mean and deviation as answers");
    }
    let along = node.integer("axis").unwrap_or(-1);
    let eps = node.float("epsilon").unwrap_or(1e-5);
    norm(network, node, inputs, along, eps)
}

/// Adds a norm of the first input along `written`; weight and bias are the others.
pub(super) fn norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs,
    written: i64,
    eps: f32,
) -> Added {
    let x = inputs.seen(0)?;
    let along = axis(written, x.dims.len())?;
    if along + 1 != x.dims.len() || along != channels_of(network, x)? {
        return unsupported(format!("a norm of {:?} from axis {along} on", x.dims));
    }
    let channels = x.dims[along];
    let weight = inputs.required(1, &[channels])?;
    let bias = inputs.floats(2, &[channels])?;
    let bias = bias.unwrap_or_else(|| vec![0.0; channels]);
    let weights = vec![("weight", weight), ("bias", bias)];
    let id = network.layer(node, Op::LayerNorm { eps }, &[x.id], weights)?;
    Ok(Activation { id, ..x.clone() })
}
