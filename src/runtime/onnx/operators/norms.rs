//! Values brought to mean 0 and variance 1 in each channel, or by their neighbours.

use super::images::for_each_image;
use super::inputs::{Added, Inputs, in_rank_of, pixels, unsupported};
use crate::network::{Binary, Op, Reduction, ResponseNorm, Shape, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

pub(super) fn batch_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let Some(&c) = x.dims().get(1) else {
        return unsupported(format!("its input of {:?} has no channels", x.dims()));
    };
    if node.integer("spatial") == Some(0) || node.integer("training_mode") == Some(1) {
        return unsupported("training mode or statistics that are not per channel");
    }
    let eps = node.float("epsilon").unwrap_or(1e-5);
    if (1..5).any(|n| !matches!(inputs.0.get(n), Some(Some(Value::Constant(_))))) {
        return norm_by_values(network, node, inputs, &x, eps);
    }
    let names = ["weight", "bias", "running_mean", "running_var"];
    let read = |(n, name)| Ok((name, inputs.required(n + 1, &[c])?));
    let weights = names.into_iter().enumerate().map(read);
    let weights = weights.collect::<Result<Vec<_>, Refusal>>()?;
    let is_row = !matches!(network.shape(x.id), Shape::Tensor(_))
        && network.shape(x.id).channels() == c
        && (c == 1 || x.layout.order().last() == Some(&1));
    if is_row {
        let id = network.layer(node, Op::BatchNorm { eps }, &[x.id], weights)?;
        return Ok(Activation { id, ..x });
    }
    if let [1, _, rest @ ..] = x.dims() {
        let pixels = rest.iter().product();
        let image = network.reshaped(node, &x, &[1, c, pixels, 1])?;
        if let Some(image) = network.imaged(node, &image)? {
            let id = network.layer(node, Op::BatchNorm { eps }, &[image.id], weights)?;
            return network.reshaped(node, &Activation { id, ..image }, x.dims());
        }
    }
    norm_by_values(network, node, inputs, &x, eps)
}

/// Returns a value of one number for each channel under the rank of the values.
fn for_channels<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    value: &Value,
    rank: usize,
) -> Added {
    let value = network.operand(node, value)?;
    let count = value.dims().iter().product();
    let mut dims = vec![1; rank];
    dims[1] = count;
    network.reshaped(node, &value, &dims)
}

fn norm_by_values<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    x: &Activation,
    eps: f32,
) -> Added {
    let mut parts = Vec::new();
    for n in 1..5 {
        parts.push(for_channels(
            network,
            node,
            inputs.value(n)?,
            x.dims().len(),
        )?);
    }
    let [scale, shift, mean, variance] = [0, 1, 2, 3].map(|n: usize| parts[n].clone());
    let below = network.with_number(node, Binary::Add, &variance, eps, false)?;
    let below = network.unary(node, Unary::Sqrt, &below)?;
    let x = network.pair(node, Binary::Sub, x, &mean)?;
    let x = network.pair(node, Binary::Div, &x, &below)?;
    let x = network.pair(node, Binary::Mul, &x, &scale)?;
    network.pair(node, Binary::Add, &x, &shift)
}

impl<'a> PartialNetwork<'a> {
    /// Adds `(x − mean) / √(variance + eps)` over `axes`, and also returns the mean and the factor.
    pub(super) fn normed(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        over: &[usize],
        eps: f32,
    ) -> Result<[Activation; 3], Refusal> {
        let mean = self.reduce(node, Reduction::Mean, x, over)?;
        let x = self.pair(node, Binary::Sub, x, &mean)?;
        let square = self.pair(node, Binary::Mul, &x, &x)?;
        let variance = self.reduce(node, Reduction::Mean, &square, over)?;
        let variance = self.with_number(node, Binary::Add, &variance, eps, false)?;
        let below = self.unary(node, Unary::Sqrt, &variance)?;
        let factor = self.unary(node, Unary::Reciprocal, &below)?;
        Ok([self.pair(node, Binary::Mul, &x, &factor)?, mean, factor])
    }
}

pub(super) fn response_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    for_each_image(network, node, inputs, response_norm_of_one)
}

fn response_norm_of_one<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let size = node.integer("size").unwrap_or_default();
    let norm = ResponseNorm {
        size: usize::try_from(size).unwrap_or_default(),
        alpha: node.float("alpha").unwrap_or(1e-4),
        beta: node.float("beta").unwrap_or(0.75),
        k: node.float("bias").unwrap_or(1.0),
    };
    let (image, _) = pixels(network, node, &x)?;
    let id = network.layer(node, Op::LocalResponseNorm(norm), &[image.id], Vec::new())?;
    in_rank_of(network, node, &x, Activation { id, ..image })
}

/// Norms of each channel (`InstanceNormalization`) or of groups of them, scaled and shifted
/// by channel, before opset 21 by group.
pub(super) fn group_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let &[batch, c, ..] = x.dims() else {
        return unsupported(format!("its input of {:?} has no channels", x.dims()));
    };
    let groups = node
        .integer("num_groups")
        .and_then(|g| usize::try_from(g).ok());
    let groups = groups.unwrap_or(c);
    if groups == 0 || !c.is_multiple_of(groups) {
        let why = format!("{c} channels do not divide into {groups} groups");
        return Err(NodeFault::Shapes(why).into());
    }
    let rest = x.dims().iter().product::<usize>() / (batch * groups);
    let grouped = network.reshaped(node, &x, &[batch, groups, rest])?;
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let [mut made, ..] = network.normed(node, &grouped, &[2], eps)?;
    let by_group = inputs.value(1)?.dims().is_some_and(|d| d == [groups]);
    if !by_group {
        made = network.reshaped(node, &made, x.dims())?;
    }
    for (n, kind) in [(1, Binary::Mul), (2, Binary::Add)] {
        let rank = made.dims().len();
        made = match inputs.value(n)? {
            Value::Constant(c) => {
                let mut dims = vec![1; rank];
                dims[1] = c.values.len();
                let values = c.values.clone();
                network.with(node, kind, &made, &Constant { dims, values }, false)?
            }
            other => {
                let other = for_channels(network, node, other, rank)?;
                network.pair(node, kind, &made, &other)?
            }
        };
    }
    network.reshaped(node, &made, x.dims())
}

/// Values divided by their norm along an axis.
pub(super) fn lp_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let along = axis(node.integer("axis").unwrap_or(-1), x.dims().len())?;
    let kind = match node.integer("p").unwrap_or(2) {
        1 => Reduction::L1,
        2 => Reduction::L2,
        p => return unsupported(format!("a norm of order {p}")),
    };
    let norm = network.reduce(node, kind, &x, &[along])?;
    // Values of no length stay 0.
    let norm = network.with_number(node, Binary::Max, &norm, f32::MIN_POSITIVE, false)?;
    network.pair(node, Binary::Div, &x, &norm)
}
