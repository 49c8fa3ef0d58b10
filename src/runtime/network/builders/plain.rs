//! Networks without shortcuts: the multi-layer perceptron, and plain convolutional networks
//! in the manner of VGG with batch norm (Simonyan and Zisserman, "Very deep convolutional
//! networks", section 2).

use serde::{Deserialize, Serialize};

use super::heads::{classify, enter, linear};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Norm, Op, Pool, Shape};

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
        };
        for (i, &features) in self.hidden.iter().enumerate() {
            x = b.add(format!("layers.{i}"), linear(features), &[x])?;
            x = b.add(format!("layers.{i}.relu"), Op::Relu, &[x])?;
        }
        b.add("head", linear(classes), &[x])?;
        b.build()
    }
}

/// Stages of 3×3 convolutions, each stage but the last closed by a 2×2 max pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convnet {
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Convolutions in each stage.
    pub depth: usize,
    /// Side to which the input is resized first.
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
