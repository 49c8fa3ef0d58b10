//! Values brought to mean 0 and variance 1 over chosen axes.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::{Binary, Reduction, Unary};
use crate::onnx::node::Node;
use crate::onnx::partial::PartialNetwork;
use crate::onnx::shapes::normalised_axes;

/// The number that ONNX adds to the deviation, not to the variance as other norms do.
const BESIDE_DEVIATION: f32 = 1e-9;

/// `MeanVarianceNormalization`: `(x − mean) / (√variance + 1e-9)`.
pub(super) fn normalise<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    if node.opset < 9 {
        return unsupported("it is experimental before operator set 9");
    }
    let x = network.input(node, inputs, 0)?;
    let over = normalised_axes(node, x.dims().len())?;
    let mean = network.reduce(node, Reduction::Mean, &x, &over)?;
    let x = network.pair(node, Binary::Sub, &x, &mean)?;
    // ONNX defines E(x²) − E(x)², which is the same, but negative after some roundings.
    let square = network.pair(node, Binary::Mul, &x, &x)?;
    let variance = network.reduce(node, Reduction::Mean, &square, &over)?;
    let deviation = network.unary(node, Unary::Sqrt, &variance)?;
    let below = network.with_number(node, Binary::Add, &deviation, BESIDE_DEVIATION, false)?;
    network.pair(node, Binary::Div, &x, &below)
}
