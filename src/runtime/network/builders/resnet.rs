//! Residual networks of basic blocks (He et al., "Deep residual learning", figures 2 and 5, with
//! torchvision's names): with the small-image stem (sections 3.3 and 4.2), and as a skeleton with
//! free depth and width (table 1, as an automatic search varies it).

use serde::{Deserialize, Serialize};

use super::plain::{classify, enter};
use crate::network::{
    Conv2d, Graph, GraphBuilder, GraphError, LayerFault, NodeId, Op, Pool, Shape,
};

/// A 3×3 stem, then stages of basic blocks; each stage after the first halves the image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resnet {
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Basic blocks of each stage.
    pub blocks: Vec<usize>,
    /// The side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Resnet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        if self.channels.is_empty() || self.channels.len() != self.blocks.len() {
            return Err(GraphError::Layer {
                layer: "resnet".into(),
                fault: LayerFault::Stages {
                    channels: self.channels.len(),
                    blocks: self.blocks.len(),
                },
            });
        }
        let mut b = GraphBuilder::new(input);
        let x = enter(&mut b, self.upscale)?;
        let stem = Conv2d::new(self.channels[0], 3).padded(1);
        let mut x = b.conv_bn_relu("conv1", "bn1", stem, x)?;
        for (stage, (&channels, &blocks)) in self.channels.iter().zip(&self.blocks).enumerate() {
            for block in 0..blocks {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                let name = format!("layer{}.{block}", stage + 1);
                x = basic_block(&mut b, &name, x, channels, stride)?;
            }
        }
        classify(b, "fc", x, classes)
    }
}

/// Basic blocks in four stages of `64 · width`, `128 · width`, `256 · width` and `512 · width`
/// filters, in the proportions of ResNet-34 (3 : 4 : 6 : 3), with at least one block each. Depth 34
/// and width 1 at 224×224 is ResNet-34.
///
/// Images of fewer than 64 pixels a side get a stem of one 3×3 convolution (section 4.2). Larger
/// images get the stem of the ImageNet networks, which shrinks them by 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResnetSkeleton {
    /// Layers with weights: an even number from 10 to 132.
    pub depth: usize,
    /// Filters as a multiple of ResNet's, from 0.25 to 4.
    #[serde(default = "one")]
    pub width: f64,
}

const fn one() -> f64 {
    1.0
}

/// Images of a smaller side are not shrunk by the stem.
const SMALL: usize = 64;

impl ResnetSkeleton {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        self.check()?;
        let mut b = GraphBuilder::new(input);
        let mut x = self.stem(&mut b, input)?;
        for (stage, blocks) in self.blocks().into_iter().enumerate() {
            for i in 0..blocks {
                let stride = if stage > 0 && i == 0 { 2 } else { 1 };
                let name = format!("layer{}.{i}", stage + 1);
                x = basic_block(&mut b, &name, x, self.filters(64 << stage), stride)?;
            }
        }
        classify(b, "fc", x, classes)
    }

    fn check(&self) -> Result<(), GraphError> {
        let wrong = |fault| GraphError::Layer {
            layer: "resnet-skeleton".into(),
            fault,
        };
        let (depth, width) = (self.depth, self.width);
        if !(10..=132).contains(&depth) || !depth.is_multiple_of(2) {
            return Err(wrong(LayerFault::Depth { found: depth }));
        }
        if !(0.25..=4.0).contains(&width) {
            return Err(wrong(LayerFault::Width { found: width }));
        }
        Ok(())
    }

    fn stem(&self, b: &mut GraphBuilder, input: Shape) -> Result<NodeId, GraphError> {
        match input {
            Shape::Image { height, width, .. } if height.min(width) < SMALL => {
                let conv = Conv2d::new(self.filters(64), 3).same();
                b.conv_bn_relu("conv1", "bn1", conv, NodeId::INPUT)
            }
            _ => imagenet_stem(b, self.filters(64)),
        }
    }

    /// Returns the blocks of each stage: two layers a block, in addition to the stem and the
    /// classifier.
    fn blocks(&self) -> [usize; 4] {
        let all = (self.depth - 2) / 2;
        let until = |sixteenths: usize| (all * sixteenths + 8) / 16;
        [
            until(3),
            until(7) - until(3),
            until(13) - until(7),
            all - until(13),
        ]
    }

    fn filters(&self, base: usize) -> usize {
        (base as f64 * self.width).round() as usize
    }
}

/// Adds a 7×7 convolution of stride 2 and a 3×3 max pool of stride 2 (table 1, conv1).
fn imagenet_stem(b: &mut GraphBuilder, filters: usize) -> Result<NodeId, GraphError> {
    let stem = Conv2d::new(filters, 7).same().strided(2);
    let x = b.conv_bn_relu("conv1", "bn1", stem, NodeId::INPUT)?;
    b.add("maxpool", Op::MaxPool(Pool::new(3, 2).padded(1)), &[x])
}

/// Adds two 3×3 convolutions with a shortcut; the first has `stride`.
fn basic_block(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    channels: usize,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let first = Conv2d::new(channels, 3).same().strided(stride);
    let x = b.conv_bn_relu(&part("conv1"), &part("bn1"), first, input)?;
    let second = Conv2d::new(channels, 3).same();
    let x = b.conv_bn(&part("conv2"), &part("bn2"), second, x)?;
    join(b, name, input, x, channels, stride)
}

/// Adds the shortcut, projected if the shapes differ, the sum and its ReLU.
fn join(
    b: &mut GraphBuilder,
    name: &str,
    input: NodeId,
    x: NodeId,
    channels: usize,
    stride: usize,
) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let shortcut = if b.shape(input) == b.shape(x) {
        input
    } else {
        let project = Conv2d::new(channels, 1).strided(stride);
        let (conv, bn) = (part("downsample.0"), part("downsample.1"));
        b.conv_bn(&conv, &bn, project, input)?
    };
    let sum = b.add(part("add"), Op::Add, &[x, shortcut])?;
    b.add(part("relu"), Op::Relu, &[sum])
}
