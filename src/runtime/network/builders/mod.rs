//! Builders of networks by name: families with a few parameters, and networks as they were
//! published.

mod blocks;
mod densenet;
mod plain;
mod published;
mod resnet;
mod swin;
mod transformer;
mod vit;

use thiserror::Error;

use crate::network::{Graph, GraphError, Shape};
use crate::words;

pub use densenet::Densenet;
pub use plain::{Convnet, Perceptron};
pub use published::{Published, UnknownNetwork};
pub use resnet::{Resnet, ResnetSkeleton};

/// A builder with its parameters, as a manifest states them.
#[derive(Clone, Debug, PartialEq)]
pub enum Builder {
    /// A multi-layer perceptron.
    Perceptron(Perceptron),
    /// A plain convolutional network.
    Convnet(Convnet),
    /// A residual network for small images.
    Resnet(Resnet),
    /// A densely connected network.
    Densenet(Densenet),
    /// A residual network of free depth and width.
    ResnetSkeleton(ResnetSkeleton),
    /// A network as it was published, without parameters.
    Published(Published),
}

/// The reason why a manifest's table names no network that can be built.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuilderError {
    /// The table does not name a builder.
    #[error("builder: expected the name of a builder")]
    NoName,
    /// No builder has this name.
    #[error("builder: unknown variant `{name}`, expected {}", known())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// A parameter is missing, unknown or of another kind; holds the parser's message.
    #[error("{0}")]
    Parameters(String),
    /// A published network was given a parameter.
    #[error("unknown field `{field}`: `{network}` is a published network without parameters")]
    NoParameters {
        /// The network's name.
        network: String,
        /// The parameter's name.
        field: String,
    },
}

/// The names of builders that take parameters.
const FAMILIES: [&str; 5] = [
    "perceptron",
    "convnet",
    "resnet",
    "densenet",
    "resnet-skeleton",
];

impl Builder {
    /// Reads a builder from a table of a manifest. The field `builder` holds its name.
    ///
    /// # Errors
    /// The builder does not exist, or a parameter is wrong.
    pub fn from_table(table: &toml::Table) -> Result<Self, BuilderError> {
        let mut rest = table.clone();
        let name = match rest.remove("builder") {
            Some(toml::Value::String(name)) => name,
            _ => return Err(BuilderError::NoName),
        };
        let value = toml::Value::Table(rest);
        let read = match name.as_str() {
            "perceptron" => value.try_into().map(Builder::Perceptron),
            "convnet" => value.try_into().map(Builder::Convnet),
            "resnet" => value.try_into().map(Builder::Resnet),
            "densenet" => value.try_into().map(Builder::Densenet),
            "resnet-skeleton" => value.try_into().map(Builder::ResnetSkeleton),
            _ => return published(&name, &value),
        };
        read.map_err(|e| BuilderError::Parameters(words::plain(&e.to_string())))
    }

    /// Builds the network for samples of shape `input` and answers of `classes` logits.
    ///
    /// # Errors
    /// A parameter does not fit the shapes.
    pub fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        match self {
            Builder::Perceptron(p) => p.build(input, classes),
            Builder::Convnet(p) => p.build(input, classes),
            Builder::Resnet(p) => p.build(input, classes),
            Builder::Densenet(p) => p.build(input, classes),
            Builder::ResnetSkeleton(p) => p.build(input, classes),
            Builder::Published(p) => p.build(input, classes),
        }
    }
}

fn published(name: &str, parameters: &toml::Value) -> Result<Builder, BuilderError> {
    let unknown = || BuilderError::Unknown {
        name: name.to_owned(),
    };
    let network = Published::from_name(name).ok_or_else(unknown)?;
    match parameters.as_table().and_then(|t| t.keys().next()) {
        None => Ok(Builder::Published(network)),
        Some(field) => Err(BuilderError::NoParameters {
            network: name.to_owned(),
            field: field.clone(),
        }),
    }
}

fn known() -> String {
    let quoted = |names: &[&str]| {
        let all: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
        all.join(", ")
    };
    let published: Vec<&str> = Published::all().map(Published::name).collect();
    format!(
        "{} with parameters, or one of the published networks {}",
        quoted(&FAMILIES),
        quoted(&published)
    )
}
