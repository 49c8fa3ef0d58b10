//! Networks as they were published.

mod classic;
mod inception;
mod inception_resnet;
mod inception_v3;
mod inception_v4;
mod mobilenet;
mod residual;
mod xception;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::network::{Graph, GraphBuilder, GraphError, Shape};

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

    pub(super) fn build(self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        let b = GraphBuilder::new(input);
        match self {
            Published::Alexnet => classic::alexnet(b, classes),
            Published::Densenet121 => residual::densenet(b, residual::D121, classes),
            Published::Densenet169 => residual::densenet(b, residual::D169, classes),
            Published::Densenet201 => residual::densenet(b, residual::D201, classes),
            Published::InceptionResnetV2 => inception_resnet::build(b, classes),
            Published::InceptionV3 => inception_v3::build(b, classes),
            Published::InceptionV4 => inception_v4::build(b, classes),
            Published::MobilenetV1 => mobilenet::v1(b, classes),
            Published::MobilenetV2 => mobilenet::v2(b, classes),
            Published::Resnet18 => residual::resnet(b, residual::R18, classes),
            Published::Resnet34 => residual::resnet(b, residual::R34, classes),
            Published::Resnet50 => residual::resnet(b, residual::R50, classes),
            Published::Resnet101 => residual::resnet(b, residual::R101, classes),
            Published::Resnet152 => residual::resnet(b, residual::R152, classes),
            Published::Resnext50 => residual::resnet(b, residual::X50, classes),
            Published::Resnext101 => residual::resnet(b, residual::X101, classes),
            Published::Vgg16 => classic::vgg(b, classic::V16, classes),
            Published::Vgg19 => classic::vgg(b, classic::V19, classes),
            Published::Xception => xception::build(b, classes),
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
