//! Shares along an axis: softmax and similar operators.

use super::inputs::{Added, Inputs};
use crate::network::{Binary, Op, Reduction, Unary};
use crate::onnx::activation::Activation;
use crate::onnx::layout::Layout;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// Returns the input as rows for a softmax, and its axis. Before opset 13 all axes from `axis` on
/// form one row, and the default axis is 1.
fn rows<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
) -> Result<(Activation, usize), Refusal> {
    let rank = x.dims().len();
    if node.opset >= 13 {
        let along = axis(node.integer("axis").unwrap_or(-1), rank)?;
        return Ok((x.clone(), along));
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
    let made = log_shares(network, node, &rows, along)?;
    network.reshaped(node, &made, x.dims())
}

/// Adds the logarithms of the shares along an axis.
pub(super) fn log_shares<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    along: usize,
) -> Added {
    let most = network.reduce(node, Reduction::Max, x, &[along])?;
    let rows = network.pair(node, Binary::Sub, x, &most)?;
    let all = network.unary(node, Unary::Exp, &rows)?;
    let all = network.reduce(node, Reduction::Sum, &all, &[along])?;
    let all = network.unary(node, Unary::Log, &all)?;
    network.pair(node, Binary::Sub, &rows, &all)
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
