//! One number for many: sums, means and extremes along axes, and sums and products up to each value.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{
    Activation as ActivationFunction, Binary, Dims, Op, Reduction, Shape, TensorOp, Unary,
};
use crate::onnx::activation::{Activation, NumberType};
use crate::onnx::fold::axes;
use crate::onnx::kinds;
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::PartialNetwork;
use crate::onnx::shapes::reduced_axes;

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
            ..x.with_layout(layout)
        })
    }
}

/// Reductions whose axes are an attribute, or an input from opset 13 or 18 on.
pub(super) fn reduce<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    if inputs.has(1) && inputs.integers(1)?.is_none() {
        return unsupported("its axes are not constant");
    }
    let rank = x.dims().len();
    let Some(over) = reduced_axes(node, axes(node, &inputs.constants()), rank)? else {
        return unreduced(network, node, &x);
    };
    let operator = node.operator().unwrap_or_default();
    let is_image = matches!(network.shape(x.id), Shape::Image { .. });
    if operator == "ReduceMean"
        && is_image
        && over == [2, 3]
        && rank == 4
        && x.layout.lies_as(&[2, 3, 1])
    {
        let made = image_mean(network, node, &x)?;
        return without_axes(network, node, &made, &over);
    }
    let made = match (operator, kinds::reduction(operator)) {
        (_, Some(kind)) => network.reduce(node, kind, &x, &over)?,
        ("ReduceLogSum", _) => {
            let all = network.reduce(node, Reduction::Sum, &x, &over)?;
            network.unary(node, Unary::Log, &all)?
        }
        ("ReduceLogSumExp", _) => {
            let most = network.reduce(node, Reduction::Max, &x, &over)?;
            // The difference of infinities would be NaN.
            let finite = ActivationFunction::Clip {
                least: f32::MIN,
                most: f32::MAX,
            };
            let most = network.each(node, Op::from(finite), &most)?;
            let less = network.pair(node, Binary::Sub, &x, &most)?;
            let all = network.unary(node, Unary::Exp, &less)?;
            let all = network.reduce(node, Reduction::Sum, &all, &over)?;
            let all = network.unary(node, Unary::Log, &all)?;
            network.pair(node, Binary::Add, &all, &most)?
        }
        _ => return unsupported("unknown operator"),
    };
    without_axes(network, node, &made, &over)
}

/// Adds the effect of a reduction without axes on each value: only its functions before and after
/// the reduction.
fn unreduced<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, x: &Activation) -> Added {
    match node.operator() {
        Some("ReduceL1" | "ReduceL2") => network.unary(node, Unary::Abs, x),
        Some("ReduceSumSquare") => network.pair(node, Binary::Mul, x, x),
        Some("ReduceLogSum") => network.unary(node, Unary::Log, x),
        _ => Ok(x.clone()),
    }
}

/// Removes axes of one position if the node does not keep them.
fn without_axes<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    over: &[usize],
) -> Added {
    if node.integer("keepdims").unwrap_or(1) != 0 {
        return Ok(x.clone());
    }
    let left = (0..x.dims().len()).filter(|a| !over.contains(a));
    let dims: Vec<usize> = left.map(|a| x.dims()[a]).collect();
    network.reshaped(node, x, &dims)
}

/// Adds the mean over the pixels of an image.
pub(super) fn image_mean<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
) -> Added {
    let id = network.layer(node, Op::GlobalAvgPool, &[x.id], Vec::new())?;
    let dims = vec![1, x.dims()[1], 1, 1];
    Ok(Activation::floats(id, Layout::row_major(dims)))
}

/// `GlobalAveragePool` and `GlobalMaxPool`: all axes after the channels.
pub(super) fn global_pool<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let is_mean = node.operator() != Some("GlobalMaxPool");
    if is_mean
        && x.dims().len() == 4
        && let Some(image) = network.imaged(node, &x)?
    {
        return image_mean(network, node, &image);
    }
    let over: Vec<usize> = (2..x.dims().len()).collect();
    let kind = match is_mean {
        true => Reduction::Mean,
        false => Reduction::Max,
    };
    match over.is_empty() {
        true => Ok(x),
        false => network.reduce(node, kind, &x, &over),
    }
}

pub(super) fn extreme<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let Some(kind) = kinds::reduction(node.operator().unwrap_or_default()) else {
        return unsupported("unknown operator");
    };
    let along = axis(node.integer("axis").unwrap_or(0), x.dims().len())?;
    let size = x.dims()[along];
    let made = if node.integer("select_last_index") == Some(1) {
        // The last position of the maximum is the first one of the reversed values.
        let turned = network.slice(node, &x, along, size - 1, size, -1)?;
        let made = network.reduce(node, kind, &turned, &[along])?;
        network.with_number(node, Binary::Sub, &made, (size - 1) as f32, true)?
    } else {
        network.reduce(node, kind, &x, &[along])?
    };
    without_axes(network, node, &made.typed(NumberType::Integers), &[along])
}

/// `CumSum` and `CumProd`.
pub(super) fn running<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let along = inputs.integers(1)?.and_then(|a| a.first().copied());
    let along = axis(along.unwrap_or(0), x.dims().len())?;
    let axes = x.layout.axes_with(&[along]);
    let from = network.stored(node, &x, &axes)?;
    let axis = axes.iter().position(|a| *a == along).unwrap_or(0);
    let [exclusive, reverse] = ["exclusive", "reverse"].map(|name| node.integer(name) == Some(1));
    let op = match node.operator() {
        Some("CumProd") => TensorOp::CumProd {
            axis,
            exclusive,
            reverse,
        },
        _ => TensorOp::CumSum {
            axis,
            exclusive,
            reverse,
        },
    };
    let id = network.tensor(node, op, &[from])?;
    let layout = Layout::new(x.dims().to_vec(), &axes);
    Ok(Activation {
        id,
        ..x.with_layout(layout)
    })
}
