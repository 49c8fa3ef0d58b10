//! Residual networks of basic blocks with the small-image stem
//! (He et al., "Deep residual learning", sections 3.3 and 4.2).

use serde::{Deserialize, Serialize};

use super::{classify, enter};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Shape};

/// A 3×3 stem, then stages of basic blocks; each stage after the first halves the image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resnet {
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Basic blocks of each stage.
    pub blocks: Vec<usize>,
    /// Side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Resnet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        if self.channels.is_empty() || self.channels.len() != self.blocks.len() {
            return Err(GraphError::Layer {
                layer: "resnet".into(),
                reason: format!(
                    "channels and blocks have one entry per stage, found {} and {}",
                    self.channels.len(),
                    self.blocks.len()
                ),
            });
        }
        let mut b = GraphBuilder::new(input);
        let x = enter(&mut b, self.upscale)?;
        let stem = Conv2d::new(self.channels[0], 3).padded(1);
        let mut x = b.conv_bn("conv1", "bn1", stem, x, true)?;
        for (stage, (&channels, &blocks)) in self.channels.iter().zip(&self.blocks).enumerate() {
            for block in 0..blocks {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                x = basic_block(
                    &mut b,
                    &format!("layer{}.{block}", stage + 1),
                    x,
                    channels,
                    stride,
                )?;
            }
        }
        classify(b, "fc", x, classes)
    }
}

fn basic_block(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    channels: usize,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let first = Conv2d::new(channels, 3).padded(1).strided(stride);
    let x = b.conv_bn(&part("conv1"), &part("bn1"), first, input, true)?;
    let second = Conv2d::new(channels, 3).padded(1);
    let x = b.conv_bn(&part("conv2"), &part("bn2"), second, x, false)?;
    let shortcut = if b.shape(input) == b.shape(x) {
        input
    } else {
        let project = Conv2d::new(channels, 1).strided(stride);
        b.conv_bn(
            &part("downsample.0"),
            &part("downsample.1"),
            project,
            input,
            false,
        )?
    };
    let sum = b.add(part("add"), Op::Add, &[x, shortcut])?;
    b.add(part("relu"), Op::Relu, &[sum])
}
