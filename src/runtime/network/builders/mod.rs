//! Builders of networks by name: families with a few parameters, and networks as they were
//! published.

mod densenet;
mod inception;
mod inception_v4;
mod plain;
mod resnet;
mod separable;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::network::{Graph, GraphBuilder, GraphError, Shape};
use crate::words;

pub use densenet::Densenet;
pub use plain::{Convnet, Perceptron};
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
    /// The table does not say which builder.
    #[error("builder: expected the name of a builder")]
    NoName,
    /// There is no builder of this name.
    #[error("builder: unknown variant `{name}`, expected {}", known())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// A parameter is missing, unknown or of another kind: the parser's words.
    #[error("{0}")]
    Parameters(String),
    /// A published network was given a parameter.
    #[error("unknown field `{field}`: `{network}` is as it was published and takes no parameters")]
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
    /// Reads a builder from a table of a manifest, whose field `builder` is its name.
    ///
    /// # Errors
    /// There is no such builder, or a parameter is wrong.
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
    let network = Published::named(name).ok_or_else(unknown)?;
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
    let published = Published::ALL.map(|(_, name)| name);
    format!(
        "{} with parameters, or one of the published networks {}",
        quoted(&FAMILIES),
        quoted(&published)
    )
}

/// A network as it was published. Its weights are named as in torchvision if that has the
/// network, else as in timm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Published {
    /// AlexNet in one column.
    Alexnet,
    /// DenseNet-121.
    Densenet121,
    /// DenseNet-169.
    Densenet169,
    /// DenseNet-201.
    Densenet201,
    /// Inception-ResNet v2.
    InceptionResnetV2,
    /// Inception v3 without its auxiliary head.
    InceptionV3,
    /// Inception v4.
    InceptionV4,
    /// MobileNet of width 1.
    MobilenetV1,
    /// MobileNet v2 of width 1.
    MobilenetV2,
    /// ResNet-18.
    Resnet18,
    /// ResNet-34.
    Resnet34,
    /// ResNet-50.
    Resnet50,
    /// ResNet-101.
    Resnet101,
    /// ResNet-152.
    Resnet152,
    /// ResNeXt-50 of 32 groups of 4 channels.
    Resnext50,
    /// ResNeXt-101 of 32 groups of 4 channels.
    Resnext101,
    /// VGG-16 without batch norm.
    Vgg16,
    /// VGG-19 without batch norm.
    Vgg19,
    /// Xception.
    Xception,
}

impl Published {
    /// All networks with their names in a manifest.
    pub const ALL: [(Published, &'static str); 19] = [
        (Published::Alexnet, "alexnet"),
        (Published::Densenet121, "densenet121"),
        (Published::Densenet169, "densenet169"),
        (Published::Densenet201, "densenet201"),
        (Published::InceptionResnetV2, "inception-resnet-v2"),
        (Published::InceptionV3, "inception-v3"),
        (Published::InceptionV4, "inception-v4"),
        (Published::MobilenetV1, "mobilenet-v1"),
        (Published::MobilenetV2, "mobilenet-v2"),
        (Published::Resnet18, "resnet18"),
        (Published::Resnet34, "resnet34"),
        (Published::Resnet50, "resnet50"),
        (Published::Resnet101, "resnet101"),
        (Published::Resnet152, "resnet152"),
        (Published::Resnext50, "resnext50-32x4d"),
        (Published::Resnext101, "resnext101-32x4d"),
        (Published::Vgg16, "vgg16"),
        (Published::Vgg19, "vgg19"),
        (Published::Xception, "xception"),
    ];

    /// Returns the network of this name, or `None` if there is none. Underscores, as in
    /// torchvision, may stand for hyphens.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(network, _)| *network)
    }

    /// Returns the name in a manifest.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(network, _)| *network == self);
        found.map_or("", |(_, name)| *name)
    }

    /// Returns the shape of the images that the network was made for: 224×224, or 299×299 for
    /// networks with Inception's stem.
    pub const fn input(self) -> Shape {
        match self {
            Published::InceptionResnetV2
            | Published::InceptionV3
            | Published::InceptionV4
            | Published::Xception => Shape::image(3, 299, 299),
            _ => Shape::image(3, 224, 224),
        }
    }

    fn build(self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let b = GraphBuilder::new(input);
        match self {
            Published::Alexnet => plain::alexnet(b, classes),
            Published::Densenet121 => densenet::published(b, densenet::D121, classes),
            Published::Densenet169 => densenet::published(b, densenet::D169, classes),
            Published::Densenet201 => densenet::published(b, densenet::D201, classes),
            Published::InceptionResnetV2 => inception_v4::inception_resnet_v2(b, classes),
            Published::InceptionV3 => inception::inception_v3(b, classes),
            Published::InceptionV4 => inception_v4::inception_v4(b, classes),
            Published::MobilenetV1 => separable::mobilenet_v1(b, classes),
            Published::MobilenetV2 => separable::mobilenet_v2(b, classes),
            Published::Resnet18 => resnet::published(b, resnet::R18, classes),
            Published::Resnet34 => resnet::published(b, resnet::R34, classes),
            Published::Resnet50 => resnet::published(b, resnet::R50, classes),
            Published::Resnet101 => resnet::published(b, resnet::R101, classes),
            Published::Resnet152 => resnet::published(b, resnet::R152, classes),
            Published::Resnext50 => resnet::published(b, resnet::X50, classes),
            Published::Resnext101 => resnet::published(b, resnet::X101, classes),
            Published::Vgg16 => plain::vgg(b, plain::V16, classes),
            Published::Vgg19 => plain::vgg(b, plain::V19, classes),
            Published::Xception => separable::xception(b, classes),
        }
    }
}

/// No published network has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no published network is called `{name}`")]
pub struct UnknownNetwork {
    name: String,
}

impl TryFrom<String> for Published {
    type Error = UnknownNetwork;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Published::named(&name).ok_or(UnknownNetwork { name })
    }
}

impl From<Published> for &'static str {
    fn from(network: Published) -> Self {
        network.name()
    }
}
