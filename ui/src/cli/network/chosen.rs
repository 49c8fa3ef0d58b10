//! The network that the command line names: its graph and its weights.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use divisi::network::builders::{Builder, Published};
use divisi::network::file::LayersFile;
use divisi::network::{Graph, Shape, Weights};
use divisi::{reading, words};

use crate::cli::args::{NetworkChoice, WeightsChoice};

/// The remark of every report on weights that nobody trained.
pub(crate) const SYNTHETIC: &str = "synthetic weights";

/// A network and its name in reports.
pub(crate) struct ChosenNetwork {
    pub name: String,
    pub graph: Graph,
}

impl ChosenNetwork {
    /// Builds the network.
    pub(crate) fn new(choice: &NetworkChoice) -> Result<Self> {
        if choice.name.ends_with(".toml") {
            let shape = choice.shape.unwrap_or(Shape::image(3, 224, 224));
            return Ok(ChosenNetwork {
                name: choice.name.clone(),
                graph: layers(Path::new(&choice.name), shape)?,
            });
        }
        let network = Published::named(&choice.name).ok_or_else(|| unknown(&choice.name))?;
        let shape = choice.shape.unwrap_or(network.input());
        let graph = Builder::Published(network).build(shape, choice.classes);
        Ok(ChosenNetwork {
            name: network.name().to_owned(),
            graph: graph.with_context(|| format!("{} for samples of {shape}", network.name()))?,
        })
    }

    /// Reads its weights from the file, or generates them from the seed.
    pub(crate) fn weights(&self, choice: &WeightsChoice) -> Result<Weights> {
        let Some(path) = &choice.weights else {
            return Ok(Weights::synthetic(&self.graph, choice.seed));
        };
        let weights = Weights::open(path, &self.graph);
        weights.with_context(|| format!("{}, weights of {}", path.display(), self.name))
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let known = Published::ALL.map(|(_, name)| name).join(", ");
    anyhow!("no published network is called `{name}`: expected a .toml file of layers, or {known}")
}

fn layers(path: &Path, shape: Shape) -> Result<Graph> {
    let file = path.display();
    let text = reading::text(path).with_context(|| format!("reading {file}"))?;
    let wrong = |offset: usize, why: String| {
        let line = 1 + text[..offset].matches('\n').count();
        anyhow!("{file}, line {line}: {why}")
    };
    let parsed: LayersFile = toml::from_str(&text).map_err(|e| {
        let offset = e.span().map_or(0, |span| span.start);
        wrong(offset, words::plain(e.message()))
    })?;
    let built = parsed.build(shape);
    built.map_err(|e| wrong(e.offset, e.error.to_string()))
}
