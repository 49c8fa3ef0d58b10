//! Named builders: families of networks made from a few parameters.

mod convnet;
mod densenet;
mod perceptron;
mod resnet;

use serde::{Deserialize, Serialize};

use super::graph::{Graph, GraphBuilder, GraphError, NodeId};
use super::op::Op;
use super::shape::Shape;

pub use convnet::Convnet;
pub use densenet::Densenet;
pub use perceptron::Perceptron;
pub use resnet::Resnet;

/// A builder with its parameters, as a manifest names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "builder", rename_all = "kebab-case")]
pub enum Builder {
    Perceptron(Perceptron),
    Convnet(Convnet),
    Resnet(Resnet),
    Densenet(Densenet),
}

impl Builder {
    /// Reads a builder's table of a manifest, `builder` being its name.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn from_table(table: &toml::Table) -> Result<Self, String> {
        let mut rest = table.clone();
        let name = match rest.remove("builder") {
            Some(toml::Value::String(name)) => name,
            _ => return Err("builder: expected the name of a builder".into()),
        };
        let value = toml::Value::Table(rest);
        let read = match name.as_str() {
            "perceptron" => value.try_into().map(Builder::Perceptron),
            "convnet" => value.try_into().map(Builder::Convnet),
            "resnet" => value.try_into().map(Builder::Resnet),
            "densenet" => value.try_into().map(Builder::Densenet),
            _ => {
                return Err(format!(
                    "builder: unknown variant `{name}`, expected `perceptron`, `convnet`, `resnet` or `densenet`"
                ));
            }
        };
        read.map_err(|e| e.to_string().trim().replace('\n', " "))
    }

    /// The network for samples of shape `input` and answers of `classes` logits.
    ///
    /// # Errors
    /// A parameter does not fit the shapes.
    pub fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        match self {
            Builder::Perceptron(p) => p.build(input, classes),
            Builder::Convnet(p) => p.build(input, classes),
            Builder::Resnet(p) => p.build(input, classes),
            Builder::Densenet(p) => p.build(input, classes),
        }
    }
}

/// Resizes the input to a square of side `upscale` where one is given.
fn enter(builder: &mut GraphBuilder, upscale: Option<usize>) -> Result<NodeId, GraphError> {
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

/// Global average pool and the classifier named `name`; finishes the network.
fn classify(
    mut builder: GraphBuilder,
    name: &str,
    from: NodeId,
    classes: usize,
) -> Result<Graph, GraphError> {
    let x = builder.add("avgpool", Op::GlobalAvgPool, &[from])?;
    let linear = Op::Linear {
        features: classes,
        bias: true,
    };
    builder.add(name, linear, &[x])?;
    builder.build()
}
