//! The multi-layer perceptron.

use serde::{Deserialize, Serialize};

use crate::network::{Graph, GraphBuilder, GraphError, NodeId, Op, Shape};

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
            let linear = Op::Linear {
                features,
                bias: true,
            };
            x = b.add(format!("layers.{i}"), linear, &[x])?;
            x = b.add(format!("layers.{i}.relu"), Op::Relu, &[x])?;
        }
        let linear = Op::Linear {
            features: classes,
            bias: true,
        };
        b.add("head", linear, &[x])?;
        b.build()
    }
}
