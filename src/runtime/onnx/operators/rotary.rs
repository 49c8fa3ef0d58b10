//! `RotaryEmbedding` of opset 23: pairs of features turned by an angle of their position.

use super::attention::heads;
use super::gather::embedding;
use super::inputs::{Added, Inputs, unsupported};
use crate::network::Binary;
use crate::onnx::activation::{Activation, Value};
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Pairs are the first and the second half of the features, or neighbours (`interleaved`).
pub(super) fn embed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let rank = x.dims().len();
    let whole = heads(network, node, &x, "num_heads")?;
    let &[batch, count, tokens, width] = whole.dims() else {
        return unsupported("its heads have another rank");
    };
    let turned = node.integer("rotary_embedding_dim").unwrap_or(0);
    let turned = usize::try_from(turned)
        .ok()
        .filter(|d| *d > 0)
        .unwrap_or(width);
    if turned > width || !turned.is_multiple_of(2) {
        return unsupported(format!(
            "a rotary_embedding_dim of {turned} for {width} features"
        ));
    }
    let rest = match turned < width {
        true => Some(network.slice(node, &whole, 3, turned, width - turned, 1)?),
        false => None,
    };
    let part = network.slice(node, &whole, 3, 0, turned, 1)?;
    let near = node.integer("interleaved") == Some(1);
    let half = turned / 2;
    let apart: [usize; 5] = match near {
        true => [batch, count, tokens, half, 2],
        false => [batch, count, tokens, 2, half],
    };
    let axis = if near { 4 } else { 3 };
    let pairs = network.reshaped(node, &part, &apart)?;
    let mut sides = Vec::new();
    for side in [0, 1] {
        let own = network.slice(node, &pairs, axis, side, 1, 1)?;
        sides.push(network.reshaped(node, &own, &[batch, count, tokens, half])?);
    }
    let [cos, sin] = angles(network, node, inputs, tokens)?;
    let mut by = |a: &Activation, b: &Activation| network.pair(node, Binary::Mul, a, b);
    let (one, other) = (by(&sides[0], &cos)?, by(&sides[1], &sin)?);
    let (more, rise) = (by(&sides[1], &cos)?, by(&sides[0], &sin)?);
    let first = network.pair(node, Binary::Sub, &one, &other)?;
    let second = network.pair(node, Binary::Add, &more, &rise)?;
    let mut single = apart;
    single[axis] = 1;
    let both = [
        network.reshaped(node, &first, &single)?,
        network.reshaped(node, &second, &single)?,
    ];
    let made = network.join(node, &both, axis)?;
    let made = network.reshaped(node, &made, &[batch, count, tokens, turned])?;
    let made = match rest {
        Some(rest) => network.join(node, &[made, rest], 3)?,
        None => made,
    };
    match rank {
        3 => {
            let made = made.transposed(&[0, 2, 1, 3]);
            network.reshaped(node, &made, x.dims())
        }
        _ => Ok(made),
    }
}

/// Returns cosines and sines as `[batch, 1, tokens, pairs]`.
fn angles<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    tokens: usize,
) -> Result<[Activation; 2], Refusal> {
    let mut of = |n: usize| {
        let table = inputs.value(n)?;
        let found = match (inputs.has(3), table) {
            (false, table) => network.operand(node, table)?,
            (true, Value::Constant(table)) => {
                let places = network.input(node, inputs, 3)?;
                embedding(network, node, table, &places, 0)?
            }
            (true, table) => {
                let table = network.operand(node, table)?;
                let places = network.input(node, inputs, 3)?;
                super::gather::gathered(network, node, &table, &places, 0)?
            }
        };
        match *found.dims() {
            [batch, own, pairs] if own == tokens => {
                network.reshaped(node, &found, &[batch, 1, tokens, pairs])
            }
            ref dims => unsupported(format!("its angles are {dims:?}")),
        }
    };
    Ok([of(1)?, of(2)?])
}
