//! The multi-layer perceptron.

use serde::{Deserialize, Serialize};

use super::linear;
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
            x = b.add(format!("layers.{i}"), linear(features), &[x])?;
            x = b.add(format!("layers.{i}.relu"), Op::Relu, &[x])?;
        }
        b.add("head", linear(classes), &[x])?;
        b.build()
    }
}
