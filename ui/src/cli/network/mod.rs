//! `divisi network`: one network alone, its subcommands, and the network that they are given:
//! its graph and its weights.

mod bench;
mod files;
mod place;
mod show;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use divisi::network::builders::{Builder, Published};
use divisi::network::file::LayersFile;
use divisi::network::{Graph, Shape, Weights};
use divisi::{reading, words};

use super::args::at_least_one;
use bench::NetworkBenchArgs;
use files::{NetworkRunArgs, NetworkWeightsArgs};
use show::{NetworkListArgs, NetworkShowArgs};

/// The subcommands of `divisi network`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum NetworkCommand {
    /// List the published networks with what they cost
    List(NetworkListArgs),
    /// Describe a network: its layers, costs, memory, and how synthetic weights are made
    #[command(
        after_help = "Example:\n  divisi network show resnet50\n  divisi network show layers.toml --shape 1,8,8 --format json"
    )]
    Show(NetworkShowArgs),
    /// Answer the samples of an .npy file with logits in another
    #[command(
        after_help = "Example:\n  divisi network run resnet50 --weights resnet50.safetensors --input x.npy --output y.npy"
    )]
    Run(NetworkRunArgs),
    /// Measure how fast a network runs on this machine's cores or a GPU, and its memory
    #[command(
        after_help = "Example:\n  divisi network bench resnet50 --batch 8 --threads 2 --format json\n  divisi network bench resnet50 --batch 64 --device cuda:0 --precision bf16"
    )]
    Bench(NetworkBenchArgs),
    /// Write a network's synthetic weights as safetensors, for other programs to load
    #[command(
        after_help = "Example:\n  divisi network weights resnet50 --seed 7 --output resnet50.safetensors"
    )]
    Weights(NetworkWeightsArgs),
}

pub(crate) fn run(command: &NetworkCommand) -> Result<()> {
    match command {
        NetworkCommand::List(args) => show::list(args),
        NetworkCommand::Show(args) => show::show(args),
        NetworkCommand::Run(args) => files::logits(args),
        NetworkCommand::Bench(args) => bench::run(args),
        NetworkCommand::Weights(args) => files::weights(args),
    }
}

/// The network, and the samples that it is built for.
#[derive(Clone, Debug, clap::Args)]
struct NetworkChoice {
    /// A published network (`divisi network list`), or a .toml file of layers
    #[arg(value_name = "NAME")]
    name: String,
    /// A sample: channels,height,width or features (default: what the network was made
    /// for; 3,224,224 for a file of layers)
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    shape: Option<Shape>,
    /// Classes that a published network tells apart
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = at_least_one)]
    classes: usize,
}

/// The origin of a network's weights.
#[derive(Clone, Debug, clap::Args)]
struct WeightsChoice {
    /// A safetensors file of torchvision's (else timm's) names (default: synthetic
    /// weights)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Seed of synthetic weights
    #[arg(
        long,
        default_value_t = 0,
        value_name = "S",
        conflicts_with = "weights"
    )]
    seed: u64,
}

/// The remark of every report on weights that nobody trained.
const SYNTHETIC: &str = "synthetic weights";

/// A network and its name in reports.
struct ChosenNetwork {
    name: String,
    graph: Graph,
}

impl ChosenNetwork {
    /// Builds the network.
    fn new(choice: &NetworkChoice) -> Result<Self> {
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
    fn weights(&self, choice: &WeightsChoice) -> Result<Weights> {
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

/// `3,224,224` or `64`.
fn parse_shape(text: &str) -> Result<Shape, String> {
    let dims: Option<Vec<usize>> = text.split(',').map(|d| d.trim().parse().ok()).collect();
    let dims = dims.ok_or_else(|| {
        format!("expected channels,height,width or features, as whole numbers, found `{text}`")
    })?;
    Shape::try_from(dims).map_err(|e| e.to_string())
}
