//! Networks as they were published, by name.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::row::PublishedRow;
use super::{
    convnext, densenet, efficientnet, googlenet, inception, inception_v4, mobilenet, plain, regnet,
    resnet, separable, shufflenet, squeezenet, swin, vit,
};
use crate::network::{Graph, GraphBuilder, GraphError, Shape};

/// A network as it was published. Its weights are named as in torchvision if that has the
/// network, else as in timm.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Published(&'static PublishedRow);

/// The tables of all families.
const FAMILIES: [&[PublishedRow]; 15] = [
    &plain::NETWORKS,
    &convnext::NETWORKS,
    &densenet::NETWORKS,
    &efficientnet::NETWORKS,
    &googlenet::NETWORKS,
    &inception::NETWORKS,
    &inception_v4::NETWORKS,
    &mobilenet::NETWORKS,
    &regnet::NETWORKS,
    &resnet::NETWORKS,
    &separable::NETWORKS,
    &shufflenet::NETWORKS,
    &squeezenet::NETWORKS,
    &swin::NETWORKS,
    &vit::NETWORKS,
];

impl Published {
    /// Iterates over all networks, family by family.
    pub fn all() -> impl Iterator<Item = Published> {
        FAMILIES.into_iter().flatten().map(Published)
    }

    /// Returns the network called `name`, or `None` if it does not exist. Underscores, as in
    /// torchvision, may replace hyphens.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        Self::all().find(|network| network.name() == name)
    }

    /// Returns the name in a manifest.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the shape of the images that the network was made for.
    pub const fn input(self) -> Shape {
        Shape::image(3, self.0.side, self.0.side)
    }

    pub(super) fn build(self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        (self.0.build)(GraphBuilder::new(input), classes)
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Published").field(&self.name()).finish()
    }
}

/// No two networks share a name.
impl PartialEq for Published {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Published {}

impl Hash for Published {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
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
        Published::from_name(&name).ok_or(UnknownNetwork { name })
    }
}

impl From<Published> for &'static str {
    fn from(network: Published) -> Self {
        network.name()
    }
}
