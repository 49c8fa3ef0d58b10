//! Densely connected networks (Huang et al., "Densely connected convolutional networks",
//! section 3), with torchvision's names.

use serde::{Deserialize, Serialize};

use super::plain::{classify, enter};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool, Shape};

/// A 3×3 stem of `2 × growth` channels, then dense blocks of pre-activated
/// 1×1 (`4 × growth`) and 3×3 (`growth`) convolutions; a transition between two
/// blocks halves channels and image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Densenet {
    /// Channels that each layer adds.
    pub growth: usize,
    /// Layers of each dense block.
    pub blocks: Vec<usize>,
    /// The side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Densenet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let mut b = GraphBuilder::new(input);
        let x = enter(&mut b, self.upscale)?;
        let stem = Conv2d::new(2 * self.growth, 3).padded(1);
        let x = b.add("features.conv0", Op::Conv2d(stem), &[x])?;
        let x = dense_blocks(&mut b, self.growth, &self.blocks, x)?;
        let x = norm_relu(&mut b, "features.norm_last", x)?;
        classify(b, "classifier", x, classes)
    }
}

/// Adds dense blocks with transitions between them.
fn dense_blocks(
    b: &mut GraphBuilder,
    growth: usize,
    blocks: &[usize],
    mut x: NodeId,
) -> Result<NodeId, GraphError> {
    for (i, &layers) in blocks.iter().enumerate() {
        if i > 0 {
            x = transition(b, i, x)?;
        }
        for layer in 0..layers {
            let name = format!("features.denseblock{}.denselayer{}", i + 1, layer + 1);
            x = dense_layer(b, &name, growth, x)?;
        }
    }
    Ok(x)
}

fn dense_layer(
    b: &mut GraphBuilder,
    name: &str,
    growth: usize,
    input: NodeId,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let x = norm_relu(b, &part("norm1"), input)?;
    let squeeze = Conv2d::new(4 * growth, 1);
    let x = b.conv_bn_relu(&part("conv1"), &part("norm2"), squeeze, x)?;
    let grow = Conv2d::new(growth, 3).same();
    let x = b.add(part("conv2"), Op::Conv2d(grow), &[x])?;
    b.add(part("concat"), Op::Concat, &[input, x])
}

fn transition(b: &mut GraphBuilder, i: usize, input: NodeId) -> Result<NodeId, GraphError> {
    let Shape::Image { channels, .. } = b.shape(input) else {
        return Ok(input);
    };
    let part = |suffix: &str| format!("features.transition{i}.{suffix}");
    let x = norm_relu(b, &part("norm"), input)?;
    let x = b.add(part("conv"), Op::Conv2d(Conv2d::new(channels / 2, 1)), &[x])?;
    b.add(part("pool"), Op::AvgPool(Pool::tiled(2)), &[x])
}

/// Adds a batch norm and a ReLU.
fn norm_relu(b: &mut GraphBuilder, name: &str, input: NodeId) -> Result<NodeId, GraphError> {
    let x = b.add(name, Op::BatchNorm { eps: 1e-5 }, &[input])?;
    b.add(format!("{name}.relu"), Op::Relu, &[x])
}
