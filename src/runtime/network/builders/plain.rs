//! Networks without shortcuts: the multi-layer perceptron, VGG-like convolutional networks with
//! batch norm, and AlexNet and VGG as published, with torchvision's names. All builders use the
//! entries and heads at the end.

use serde::{Deserialize, Serialize};

use super::row::{PublishedRow, row};
use crate::network::{
    Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool, Shape, TensorOp,
};

/// Fully connected layers with ReLUs between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perceptron {
    /// Features of each hidden layer.
    #[serde(default)]
    pub hidden: Vec<usize>,
}

impl Perceptron {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let mut b = GraphBuilder::new(input);
        let mut x = match input {
            Shape::Image { .. } => b.add("flatten", Op::Flatten, &[NodeId::INPUT])?,
            Shape::Vector { .. } => NodeId::INPUT,
            Shape::Tensor(_) => {
                let shape = Shape::vector(input.elements());
                b.add(
                    "flatten",
                    Op::Tensor(TensorOp::View { shape }),
                    &[NodeId::INPUT],
                )?
            }
        };
        for (i, &features) in self.hidden.iter().enumerate() {
            x = b.add(format!("layers.{i}"), linear(features), &[x])?;
            x = b.add(format!("layers.{i}.relu"), Op::Relu, &[x])?;
        }
        b.add("head", linear(classes), &[x])?;
        b.build()
    }
}

/// Stages of 3×3 convolutions. Each stage except the last ends in a 2×2 max pool (Simonyan and
/// Zisserman, "Very deep convolutional networks", section 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convnet {
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Convolutions in each stage.
    pub depth: usize,
    /// The side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Convnet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let mut b = GraphBuilder::new(input);
        let mut x = enter(&mut b, self.upscale)?;
        for (stage, &channels) in self.channels.iter().enumerate() {
            if stage > 0 {
                x = b.add(format!("pool{stage}"), Op::MaxPool(Pool::tiled(2)), &[x])?;
            }
            for i in 0..self.depth {
                let (conv, bn) = (
                    format!("features.{stage}.{i}.conv"),
                    format!("features.{stage}.{i}.bn"),
                );
                x = b.conv_bn(
                    &conv,
                    &bn,
                    Conv2d::new(channels, 3).padded(1),
                    x,
                    Norm::RELU,
                )?;
            }
        }
        classify(b, "classifier", x, classes)
    }
}

/// AlexNet and VGG.
pub(super) const NETWORKS: [PublishedRow; 3] = [
    row("alexnet", 224, alexnet),
    row("vgg16", 224, |b, classes| vgg(b, V16, classes)),
    row("vgg19", 224, |b, classes| vgg(b, V19, classes)),
];

/// Channels, kernel, stride and padding of each convolution, and whether a pool follows.
const FEATURES: [(usize, usize, usize, usize, bool); 5] = [
    (64, 11, 4, 2, true),
    (192, 5, 1, 2, true),
    (384, 3, 1, 1, false),
    (256, 3, 1, 1, false),
    (256, 3, 1, 1, true),
];

/// Builds AlexNet in one column (Krizhevsky, "One weird trick for parallelizing convolutional
/// neural networks", section 5, footnote 1).
fn alexnet(mut b: GraphBuilder, classes: usize) -> Result<Graph, GraphError> {
    let mut x = NodeId::INPUT;
    // The features are numbered through: a convolution, its ReLU, a pool.
    let mut index = 0;
    for (channels, kernel, stride, padding, pooled) in FEATURES {
        let conv = Conv2d::new(channels, kernel)
            .strided(stride)
            .padded(padding)
            .biased();
        x = b.add(format!("features.{index}"), Op::Conv2d(conv), &[x])?;
        x = b.add(format!("features.{}", index + 1), Op::Relu, &[x])?;
        index += 2;
        if pooled {
            let pool = Op::MaxPool(Pool::new(3, 2));
            x = b.add(format!("features.{index}"), pool, &[x])?;
            index += 1;
        }
    }
    dense_head(b, x, 6, [1, 4, 6], classes)
}

/// 3×3 convolutions of each stage.
const V16: [usize; 5] = [2, 2, 3, 3, 3];
const V19: [usize; 5] = [2, 2, 4, 4, 4];

const CHANNELS: [usize; 5] = [64, 128, 256, 512, 512];

/// Builds VGG without batch norm (Simonyan and Zisserman, table 1, configurations D and E).
fn vgg(mut b: GraphBuilder, stages: [usize; 5], classes: usize) -> Result<Graph, GraphError> {
    let mut x = NodeId::INPUT;
    // The features are numbered through: a convolution, its ReLU, a pool.
    let mut index = 0;
    for (convolutions, channels) in stages.into_iter().zip(CHANNELS) {
        for _ in 0..convolutions {
            let conv = Conv2d::new(channels, 3).same().biased();
            x = b.add(format!("features.{index}"), Op::Conv2d(conv), &[x])?;
            x = b.add(format!("features.{}", index + 1), Op::Relu, &[x])?;
            index += 2;
        }
        let pool = Op::MaxPool(Pool::tiled(2));
        x = b.add(format!("features.{index}"), pool, &[x])?;
        index += 1;
    }
    dense_head(b, x, 7, [0, 3, 6], classes)
}

/// The head of the networks before global pooling: an average pool to `side × side`,
/// two layers of 4096 and the classifier, named `classifier.` and their place there.
fn dense_head(
    mut builder: GraphBuilder,
    from: NodeId,
    side: usize,
    places: [usize; 3],
    classes: usize,
) -> Result<Graph, GraphError> {
    let pool = Op::AdaptiveAvgPool {
        height: side,
        width: side,
    };
    let x = builder.add("avgpool", pool, &[from])?;
    let mut x = builder.add("flatten", Op::Flatten, &[x])?;
    for place in &places[..2] {
        x = builder.add(format!("classifier.{place}"), linear(4096), &[x])?;
        x = builder.add(format!("classifier.{place}.relu"), Op::Relu, &[x])?;
    }
    let last = format!("classifier.{}", places[2]);
    builder.add(last, linear(classes), &[x])?;
    builder.build()
}

/// Returns the input, resized to a square of side `upscale` if that is given.
pub(super) fn enter(
    builder: &mut GraphBuilder,
    upscale: Option<usize>,
) -> Result<NodeId, GraphError> {
    match upscale {
        None => Ok(NodeId::INPUT),
        Some(side) => builder.add(
            "upscale",
            Op::Upscale {
                height: side,
                width: side,
            },
            &[NodeId::INPUT],
        ),
    }
}

/// Adds a global average pool and the classifier called `name`, and finishes the network.
pub(super) fn classify(
    mut builder: GraphBuilder,
    name: &str,
    from: NodeId,
    classes: usize,
) -> Result<Graph, GraphError> {
    let x = builder.add("avgpool", Op::GlobalAvgPool, &[from])?;
    builder.add(name, linear(classes), &[x])?;
    builder.build()
}

/// Returns a fully connected layer with biases.
pub(super) fn linear(features: usize) -> Op {
    Op::Linear {
        features,
        bias: true,
    }
}
