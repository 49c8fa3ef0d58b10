//! EfficientNet (Tan and Le, "EfficientNet", table 1, scaled as in section 3.3) and
//! EfficientNetV2 (Tan and Le, "EfficientNetV2", table 4), with torchvision's names and `eps`.

use super::inverted::{InvertedBottleneck, SqueezeExcite, divisible, shortcut};
use super::plain::classify;
use super::row::{PublishedRow, row};
use crate::network::{Activation, Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm};

/// The networks with the factors of width and depth that the first paper's code has, each for
/// the images that it was tested with.
pub(super) const NETWORKS: [PublishedRow; 11] = [
    row("efficientnet-b0", 224, |b, c| scaled(b, 1.0, 1.0, 1e-5, c)),
    row("efficientnet-b1", 240, |b, c| scaled(b, 1.0, 1.1, 1e-5, c)),
    row("efficientnet-b2", 288, |b, c| scaled(b, 1.1, 1.2, 1e-5, c)),
    row("efficientnet-b3", 300, |b, c| scaled(b, 1.2, 1.4, 1e-5, c)),
    row("efficientnet-b4", 380, |b, c| scaled(b, 1.4, 1.8, 1e-5, c)),
    row("efficientnet-b5", 456, |b, c| scaled(b, 1.6, 2.2, 1e-3, c)),
    row("efficientnet-b6", 528, |b, c| scaled(b, 1.8, 2.6, 1e-3, c)),
    row("efficientnet-b7", 600, |b, c| scaled(b, 2.0, 3.1, 1e-3, c)),
    row("efficientnet-v2-s", 384, |b, c| second(b, &V2_S, c)),
    row("efficientnet-v2-m", 480, |b, c| second(b, &V2_M, c)),
    row("efficientnet-v2-l", 480, |b, c| second(b, &V2_L, c)),
];

/// Blocks of one shape in sequence.
#[derive(Clone, Copy)]
struct Stage {
    /// Whether one dense convolution replaces widening and filtering ("Fused-MBConv", figure 2).
    fused: bool,
    expansion: usize,
    kernel: usize,
    /// The stride of the first block.
    stride: usize,
    channels: usize,
    blocks: usize,
}

const fn separable(
    expansion: usize,
    kernel: usize,
    stride: usize,
    channels: usize,
    blocks: usize,
) -> Stage {
    Stage {
        fused: false,
        expansion,
        kernel,
        stride,
        channels,
        blocks,
    }
}

const fn fused(expansion: usize, stride: usize, channels: usize, blocks: usize) -> Stage {
    Stage {
        fused: true,
        ..separable(expansion, 3, stride, channels, blocks)
    }
}

/// EfficientNet-B0.
const V1: [Stage; 7] = [
    separable(1, 3, 1, 16, 1),
    separable(6, 3, 2, 24, 2),
    separable(6, 5, 2, 40, 2),
    separable(6, 3, 2, 80, 3),
    separable(6, 5, 1, 112, 3),
    separable(6, 5, 2, 192, 4),
    separable(6, 3, 1, 320, 1),
];

const V2_S: [Stage; 6] = [
    fused(1, 1, 24, 2),
    fused(4, 2, 48, 4),
    fused(4, 2, 64, 4),
    separable(4, 3, 2, 128, 6),
    separable(6, 3, 1, 160, 9),
    separable(6, 3, 2, 256, 15),
];

const V2_M: [Stage; 7] = [
    fused(1, 1, 24, 3),
    fused(4, 2, 48, 5),
    fused(4, 2, 80, 5),
    separable(4, 3, 2, 160, 7),
    separable(6, 3, 1, 176, 14),
    separable(6, 3, 2, 304, 18),
    separable(6, 3, 1, 512, 5),
];

const V2_L: [Stage; 7] = [
    fused(1, 1, 32, 4),
    fused(4, 2, 64, 7),
    fused(4, 2, 96, 7),
    separable(4, 3, 2, 192, 10),
    separable(6, 3, 1, 224, 19),
    separable(6, 3, 2, 384, 25),
    separable(6, 3, 1, 640, 7),
];

/// Builds B0 with `width` times the channels and `depth` times the blocks.
fn scaled(
    b: GraphBuilder,
    width: f64,
    depth: f64,
    eps: f32,
    classes: usize,
) -> Result<Graph, GraphError> {
    let widths = |channels: usize| divisible(channels as f64 * width);
    let stages = V1.map(|stage| Stage {
        channels: widths(stage.channels),
        blocks: (stage.blocks as f64 * depth).ceil() as usize,
        ..stage
    });
    let last = 4 * widths(320);
    network(b, &stages, [widths(32), last], eps, classes)
}

fn second(b: GraphBuilder, stages: &[Stage], classes: usize) -> Result<Graph, GraphError> {
    // The stem has as many channels as the first stage.
    let stem = stages.first().map_or(0, |stage| stage.channels);
    network(b, stages, [stem, 1280], 1e-3, classes)
}

/// Builds a network of `stages` between a stem of `first` channels and a layer of `last` ones.
fn network(
    mut b: GraphBuilder,
    stages: &[Stage],
    [first, last]: [usize; 2],
    eps: f32,
    classes: usize,
) -> Result<Graph, GraphError> {
    let norm = Norm::RELU.eps(eps).activated(Activation::Silu);
    let stem = Conv2d::new(first, 3).same().strided(2);
    let (conv, bn) = ("features.0.0", "features.0.1");
    let mut x = b.conv_bn(conv, bn, stem, NodeId::INPUT, norm)?;
    for (i, stage) in stages.iter().enumerate() {
        for block in 0..stage.blocks {
            let stride = if block == 0 { stage.stride } else { 1 };
            let name = format!("features.{}.{block}.block", i + 1);
            x = stage.block(&mut b, &name, stride, norm, x)?;
        }
    }
    let at = format!("features.{}", stages.len() + 1);
    let widen = Conv2d::new(last, 1);
    let x = b.conv_bn(&format!("{at}.0"), &format!("{at}.1"), widen, x, norm)?;
    classify(b, "classifier.1", x, classes)
}

impl Stage {
    fn block(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        stride: usize,
        norm: Norm,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let inputs = b.shape(input).channels();
        if self.fused {
            return self.fused_block(b, name, stride, norm, input);
        }
        let block = InvertedBottleneck {
            hidden: self.expansion * inputs,
            outputs: self.channels,
            kernel: self.kernel,
            stride,
            norm,
            squeeze: Some(SqueezeExcite {
                inner: (inputs / 4).max(1),
                activation: Activation::Silu,
                gate: Activation::Sigmoid,
            }),
        };
        block.add(b, input, &|part, _| {
            (format!("{name}.{part}.0"), format!("{name}.{part}.1"))
        })
    }

    fn fused_block(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        stride: usize,
        norm: Norm,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let widens = self.expansion != 1;
        let hidden = match widens {
            true => self.expansion * b.shape(input).channels(),
            false => self.channels,
        };
        let filter = Conv2d::new(hidden, self.kernel).same().strided(stride);
        let mut x = b.conv_bn(&part("0.0"), &part("0.1"), filter, input, norm)?;
        if widens {
            let narrow = Conv2d::new(self.channels, 1);
            let plain = Norm::PLAIN.eps(norm.eps);
            x = b.conv_bn(&part("1.0"), &part("1.1"), narrow, x, plain)?;
        }
        shortcut(b, &part("add"), input, x)
    }
}
