//! Norms of sums: `SkipLayerNormalization` and `EmbedLayerNormalization`.

use super::rows;
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::node::Node;
use crate::onnx::operators::inputs::{Added, Inputs, unsupported};
use crate::onnx::operators::layer_norm::add_norm;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::{Constant, Values};

/// The norm of the sum of two values and an addend; the sum is the fourth answer.
pub(super) fn skip<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let is_simple = node.contrib() == Some("SkipSimplifiedLayerNormalization");
    let bias = if is_simple { 3 } else { 4 };
    let mut sum = network.binary(node, Binary::Add, inputs.value(0)?, inputs.value(1)?)?;
    if inputs.has(bias) {
        sum = network.binary(node, Binary::Add, &sum.into(), inputs.value(bias)?)?;
    }
    let eps = node.float("epsilon").unwrap_or(1e-12);
    let made = match is_simple {
        true => by_mean_square(network, node, &sum, inputs.value(2)?, eps)?,
        false => {
            let shift = inputs.0.get(3).cloned().flatten();
            let parameters = [inputs.value(2)?.clone(), shift.unwrap_or(ZERO)];
            normed(network, node, &sum, parameters, eps)?
        }
    };
    Ok(vec![made.clone(), made.clone(), made, sum])
}

/// Represents an omitted addend.
const ZERO: Value = Value::Unknown;

/// Returns the norm over the last axis.
fn normed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    [scale, shift]: [Value; 2],
    eps: f32,
) -> Added {
    let shift = match (shift, scale.dims()) {
        (Value::Unknown, Some(dims)) => {
            let count = dims.iter().product();
            let values = Values::Floats(vec![0.0; count].into());
            let dims = dims.to_vec();
            Constant { dims, values }.into()
        }
        (shift, _) => shift,
    };
    let made = add_norm(network, node, &x.clone().into(), eps, [scale, shift])?;
    match made.into_iter().next() {
        Some(made) => Ok(made),
        None => unsupported("the norm has no answer"),
    }
}

fn by_mean_square<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    scale: &Value,
    eps: f32,
) -> Added {
    let Some(last) = x.dims().len().checked_sub(1) else {
        return unsupported("a norm over a single number");
    };
    let square = network.pair(node, Binary::Mul, x, x)?;
    let mean = network.reduce(node, Reduction::Mean, &square, &[last])?;
    let mean = network.with_number(node, Binary::Add, &mean, eps, false)?;
    let below = network.unary(node, Unary::Sqrt, &mean)?;
    let made = network.pair(node, Binary::Div, x, &below)?;
    network.binary(node, Binary::Mul, &made.into(), scale)
}

/// The norm of the sum of the rows of a word, its position and its segment; then the number of
/// tokens that the mask leaves, and the sum.
pub(super) fn embed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Activation>, Refusal> {
    let words = rows(network, node, inputs.value(2)?, inputs.value(0)?)?;
    let &[_, tokens, _] = words.dims() else {
        return unsupported(format!("its words are {:?}", words.dims()));
    };
    let places = match inputs.has(8) {
        true => rows(network, node, inputs.value(3)?, inputs.value(8)?)?,
        false => {
            let table = network.input(node, inputs, 3)?;
            let most = table.dims().first().copied().unwrap_or(0);
            if tokens > most {
                return unsupported(format!("{tokens} tokens exceed {most} positions"));
            }
            network.slice(node, &table, 0, 0, tokens, 1)?
        }
    };
    let mut sum = network.pair(node, Binary::Add, &words, &places)?;
    if inputs.has(1) && inputs.has(4) {
        let segments = rows(network, node, inputs.value(4)?, inputs.value(1)?)?;
        sum = network.pair(node, Binary::Add, &sum, &segments)?;
    }
    let eps = node.float("epsilon").unwrap_or(1e-12);
    let by = [inputs.value(5)?.clone(), inputs.value(6)?.clone()];
    let made = normed(network, node, &sum, by, eps)?;
    let counted = match inputs.has(7) {
        true => {
            let mask = network.input(node, inputs, 7)?;
            if mask.dims().len() != 2 {
                return unsupported(format!("its mask is {:?}", mask.dims()));
            }
            let count = network.reduce(node, Reduction::Sum, &mask, &[1])?;
            let batch = count.dims()[0];
            network.reshaped(node, &count, &[batch])?
        }
        false => made.clone(),
    };
    Ok(vec![made, counted, sum])
}
