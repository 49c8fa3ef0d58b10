//! Densely connected networks
//! (Huang et al., "Densely connected convolutional networks", section 3).

use serde::{Deserialize, Serialize};

use super::{classify, enter};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool, Shape};

/// A 3×3 stem of `2 × growth` channels, then dense blocks of pre-activated
/// 1×1 (`4 × growth`) and 3×3 (`growth`) convolutions; a transition between two
/// blocks halves channels and image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Densenet {
    /// Channels each layer adds.
    pub growth: usize,
    /// Layers of each dense block.
    pub blocks: Vec<usize>,
    /// Side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Densenet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let mut b = GraphBuilder::new(input);
        let x = enter(&mut b, self.upscale)?;
        let stem = Conv2d::new(2 * self.growth, 3).padded(1);
        let mut x = b.add("features.conv0", Op::Conv2d(stem), &[x])?;
        for (i, &layers) in self.blocks.iter().enumerate() {
            if i > 0 {
                x = transition(&mut b, i, x)?;
            }
            for layer in 0..layers {
                let name = format!("features.denseblock{}.denselayer{}", i + 1, layer + 1);
                x = self.dense_layer(&mut b, &name, x)?;
            }
        }
        let x = norm_relu(&mut b, "features.norm_last", x)?;
        classify(b, "classifier", x, classes)
    }

    fn dense_layer(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let x = norm_relu(b, &part("norm1"), input)?;
        let squeeze = Conv2d::new(4 * self.growth, 1);
        let x = b.add(part("conv1"), Op::Conv2d(squeeze), &[x])?;
        let x = norm_relu(b, &part("norm2"), x)?;
        let grow = Conv2d::new(self.growth, 3).padded(1);
        let x = b.add(part("conv2"), Op::Conv2d(grow), &[x])?;
        b.add(part("concat"), Op::Concat, &[input, x])
    }
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

fn norm_relu(b: &mut GraphBuilder, name: &str, input: NodeId) -> Result<NodeId, GraphError> {
    let x = b.add(name, Op::BatchNorm { eps: 1e-5 }, &[input])?;
    b.add(format!("{name}.relu"), Op::Relu, &[x])
}
