//! Layers of images for samples of several images.

use super::inputs::{Added, Handler, Inputs, unsupported};
use crate::onnx::activation::Value;
use crate::onnx::node::Node;
use crate::onnx::partial::PartialNetwork;

/// The most images of a sample. The layer is repeated for each image.
const MOST_IMAGES: usize = 64;

/// Adds a layer for each image of the first input, and joins the answers. The weights count as
/// values that are made of constants.
pub(super) fn for_each_image<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
    layer: Handler,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let count = match *x.dims() {
        [count, _, _, ..] if count > 1 => count,
        _ => return layer(network, node, inputs),
    };
    if count > MOST_IMAGES {
        return unsupported(format!("more than {MOST_IMAGES} images in a sample"));
    }
    let weights = match inputs.0.get(1) {
        Some(Some(Value::Constant(weights))) => weights.values.len(),
        _ => 0,
    };
    network
        .fold_budget
        .spend(weights.saturating_mul(count - 1))?;
    let mut parts = Vec::new();
    for image in 0..count {
        let mut own = inputs.0.to_vec();
        own[0] = Some(network.slice(node, &x, 0, image, 1, 1)?.into());
        parts.push(layer(network, node, &Inputs(&own))?);
    }
    network.join(node, &parts, 0)
}
