//! Networks without shortcuts: the multi-layer perceptron, and VGG-like convolutional networks with
//! batch norm. All builders use the entries and heads at the end.

use serde::{Deserialize, Serialize};

use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, NodeId, Op, Pool, Shape, TensorOp};

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
                x = b.conv_bn_relu(&conv, &bn, Conv2d::new(channels, 3).padded(1), x)?;
            }
        }
        classify(b, "classifier", x, classes)
    }
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
