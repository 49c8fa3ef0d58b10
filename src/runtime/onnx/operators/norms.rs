//! Softmax, and values brought to mean 0 and variance 1.

use super::inputs::{Added, Inputs, like, pixels, unsupported};
use crate::network::{Binary, Dims, Op, Reduction, ResponseNorm, Shape, TensorOp, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

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
        return unsupported("statistics that are not those of a channel in inference");
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
    let below = network.by(node, Binary::Add, &variance, eps, false)?;
    let below = network.unary(node, Unary::Sqrt, &below)?;
    let x = network.pair(node, Binary::Sub, x, &mean)?;
    let x = network.pair(node, Binary::Div, &x, &below)?;
    let x = network.pair(node, Binary::Mul, &x, &scale)?;
    network.pair(node, Binary::Add, &x, &shift)
}

impl<'a> PartialNetwork<'a> {
    /// Adds a reduction over `axes`, which stay with the size 1.
    pub(super) fn reduce(
        &mut self,
        node: Node<'a>,
        kind: Reduction,
        x: &Activation,
        over: &[usize],
    ) -> Added {
        let axes = x.layout.axes_with(over);
        let from = self.stored(node, x, &axes)?;
        let mut places: Vec<usize> = (0..axes.len())
            .filter(|&p| over.contains(&axes[p]))
            .collect();
        // A single number is held as a vector of one.
        if axes.is_empty() {
            places.push(0);
        }
        let op = TensorOp::Reduce {
            kind,
            axes: Dims::new(&places)?,
            keep: true,
        };
        let id = self.tensor(node, op, &[from])?;
        let mut dims = x.dims().to_vec();
        over.iter().for_each(|&axis| dims[axis] = 1);
        let layout = Layout::new(dims, &axes);
        Ok(Activation {
            id,
            ..x.under(layout)
        })
    }

    /// Adds `(x − mean) / √(variance + eps)` over `axes`; returns the mean and the factor, too.
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
        let variance = self.by(node, Binary::Add, &variance, eps, false)?;
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
    like(network, node, &x, Activation { id, ..image })
}

/// Adds a norm over the last axis with a factor and an addend for each of its values.
fn rows_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    eps: f32,
    [scale, shift]: [Vec<f32>; 2],
) -> Added {
    let last = x.dims().len() - 1;
    let axes = x.layout.ending_in(&[last]);
    let is_image = matches!(network.shape(x.id), Shape::Image { .. });
    // The channels of an image lie last.
    let alike = network.shape(x.id).channels() == x.dims()[last] && x.layout.lies_as(&axes);
    let from = match is_image && alike && x.dims()[last] > 1 {
        true => x.id,
        false => network.stored(node, x, &axes)?,
    };
    let weights = vec![("weight", scale), ("bias", shift)];
    let id = network.layer(node, Op::LayerNorm { eps }, &[from], weights)?;
    let layout = Layout::new(x.dims().to_vec(), &axes);
    Ok(Activation::floats(id, layout))
}

/// Returns the constant factors and addends of a norm over values of `dims`, or `None` where
/// they are not constant or not one for each.
fn constants(inputs: &Inputs<'_>, dims: &[usize]) -> Option<[Vec<f32>; 2]> {
    let count = dims.iter().product();
    let read = |n: usize, default: f32| match inputs.0.get(n) {
        Some(Some(Value::Constant(c))) => {
            let floats = c.as_floats().filter(|v| v.iter().all(|v| v.is_finite()));
            floats
                .filter(|v| c.dims == dims && v.len() == count)
                .map(<[f32]>::to_vec)
        }
        Some(Some(_)) => None,
        _ => Some(vec![default; count]),
    };
    Some([read(1, 1.0)?, read(2, 0.0)?])
}

/// The mean and the factor are answered, too, where something reads them.
pub(super) fn layer_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
    let over: Vec<usize> = (first..rank).collect();
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let parts = node.outputs().iter().skip(1);
    let alone = !parts.into_iter().any(|name| network.is_read(name));
    if let Some(weights) = constants(inputs, &x.dims()[first..]).filter(|_| alone && eps > 0.0) {
        let (before, behind) = x.dims().split_at(first);
        let dims = [before, &[behind.iter().product()]].concat();
        let rows = network.reshaped(node, &x, &dims)?;
        let made = rows_norm(network, node, &rows, eps, weights)?;
        return Ok(vec![network.reshaped(node, &made, x.dims())?]);
    }
    let [normed, mean, factor] = network.normed(node, &x, &over, eps)?;
    let made = scaled(network, node, inputs, normed)?;
    Ok(vec![made, mean, factor])
}

/// Multiplies by input 1, and adds input 2 where it is there.
fn scaled<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    x: Activation,
) -> Added {
    let scaled = network.binary(node, Binary::Mul, &x.into(), inputs.value(1)?)?;
    match inputs.has(2) {
        true => network.binary(node, Binary::Add, &scaled.into(), inputs.value(2)?),
        false => Ok(scaled),
    }
}

pub(super) fn rms_norm<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
    let over: Vec<usize> = (first..rank).collect();
    let square = network.pair(node, Binary::Mul, &x, &x)?;
    let mean = network.reduce(node, Reduction::Mean, &square, &over)?;
    let eps = node.float("epsilon").unwrap_or(1e-5);
    let mean = network.by(node, Binary::Add, &mean, eps, false)?;
    let below = network.unary(node, Unary::Sqrt, &mean)?;
    let made = network.pair(node, Binary::Div, &x, &below)?;
    scaled(network, node, inputs, made)
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
        let why = format!("{c} channels in {groups} groups");
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

/// Returns the input as rows for a softmax and the axis that it runs over. Before opset 13
/// everything behind `axis` is one row, and the axis is 1 by default.
fn rows<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
) -> Result<(Activation, usize), Refusal> {
    let rank = x.dims().len();
    if node.opset >= 13 {
        return Ok((x.clone(), axis(node.integer("axis").unwrap_or(-1), rank)?));
    }
    let along = axis(node.integer("axis").unwrap_or(1), rank)?;
    let (before, behind) = x.dims().split_at(along);
    let dims = [before.iter().product(), behind.iter().product()];
    Ok((network.reshaped(node, x, &dims)?, 1))
}

pub(super) fn softmax<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let (rows, along) = rows(network, node, &x)?;
    let axes = rows.layout.ending_in(&[along]);
    let from = network.stored(node, &rows, &axes)?;
    let id = network.layer(node, Op::Softmax, &[from], Vec::new())?;
    let layout = Layout::new(rows.dims().to_vec(), &axes);
    network.reshaped(node, &Activation::floats(id, layout), x.dims())
}

/// `x − max − ln Σ exp(x − max)`: the logarithm of a softmax would be of zeros.
pub(super) fn log_softmax<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let (rows, along) = rows(network, node, &x)?;
    let most = network.reduce(node, Reduction::Max, &rows, &[along])?;
    let rows = network.pair(node, Binary::Sub, &rows, &most)?;
    let all = network.unary(node, Unary::Exp, &rows)?;
    let all = network.reduce(node, Reduction::Sum, &all, &[along])?;
    let all = network.unary(node, Unary::Log, &all)?;
    let made = network.pair(node, Binary::Sub, &rows, &all)?;
    network.reshaped(node, &made, x.dims())
}

/// 1 at the first of the largest values, else 0.
pub(super) fn hardmax<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let (rows, along) = rows(network, node, &x)?;
    let best = network.reduce(node, Reduction::ArgMax, &rows, &[along])?;
    let mut dims = vec![1; rows.dims().len()];
    dims[along] = rows.dims()[along];
    let places = Constant {
        values: Values::Integers((0..dims[along] as i64).collect()),
        dims,
    };
    let made = network.with(node, Binary::Equal, &best, &places, false)?;
    let made = network.reshaped(node, &made, x.dims())?;
    Ok(made.typed(x.numbers))
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
    network.pair(node, Binary::Div, &x, &norm)
}
