//! Networks as they were published, by name. Their layers are data, in the folder `published`; the
//! module `blocks` explains the format.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml::Table;

use super::blocks;
use crate::network::{Graph, GraphError, Shape};

/// A network as it was published. Its weights are named as in torchvision if that has the
/// network, else as in timm.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Published(&'static PublishedNetwork);

/// The files of all families, and of the blocks that they share.
const FILES: [&str; 16] = [
    include_str!("published/common.toml"),
    include_str!("published/plain.toml"),
    include_str!("published/convnext.toml"),
    include_str!("published/densenet.toml"),
    include_str!("published/efficientnet.toml"),
    include_str!("published/googlenet.toml"),
    include_str!("published/inception-v3.toml"),
    include_str!("published/inception-v4.toml"),
    include_str!("published/mobilenet.toml"),
    include_str!("published/regnet.toml"),
    include_str!("published/resnet.toml"),
    include_str!("published/xception.toml"),
    include_str!("published/shufflenet.toml"),
    include_str!("published/squeezenet.toml"),
    include_str!("published/swin.toml"),
    include_str!("published/vit.toml"),
];

/// The content of a file, or of all files.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFamily {
    /// Lines by the block's name, which no two files share.
    #[serde(default)]
    blocks: BTreeMap<String, Vec<Table>>,
    #[serde(default)]
    networks: Vec<PublishedNetwork>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedNetwork {
    name: String,
    /// The side of the images that it was made for.
    side: usize,
    /// The lines of the network.
    layers: Vec<Table>,
}

/// All families. A damaged file would be missing, which the tests notice.
static ALL: LazyLock<PublishedFamily> = LazyLock::new(|| {
    let mut all = PublishedFamily::default();
    for family in FILES
        .iter()
        .filter_map(|text| toml::from_str::<PublishedFamily>(text).ok())
    {
        all.blocks.extend(family.blocks);
        all.networks.extend(family.networks);
    }
    all
});

impl Published {
    /// Iterates over all networks, family by family.
    pub fn all() -> impl Iterator<Item = Published> {
        ALL.networks.iter().map(Published)
    }

    /// Returns the network called `name`, or `None` if it does not exist. Underscores, as in
    /// torchvision, may replace hyphens.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace('_', "-");
        Self::all().find(|network| network.name() == name)
    }

    /// Returns the name in a manifest.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Returns the shape of the images that the network was made for.
    pub fn input(self) -> Shape {
        Shape::image(3, self.0.side, self.0.side)
    }

    pub(super) fn build(self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        blocks::build(&ALL.blocks, &self.0.layers, input, classes)
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
