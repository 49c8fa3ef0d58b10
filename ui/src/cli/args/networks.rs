//! The arguments of `divisi network`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use divisi::compute::Family;
use divisi::compute::gpu::Precision;
use divisi::network::Shape;

use super::values::{
    OutputFormat, at_least_one, parse_family, parse_precision, parse_seconds, parse_shape,
};

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

/// The network, and the samples that it is built for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkChoice {
    /// A published network (`divisi network list`), or a .toml file of layers
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A sample: channels,height,width or features (default: what the network was made
    /// for; 3,224,224 for a file of layers)
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub shape: Option<Shape>,
    /// Classes that a published network tells apart
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = at_least_one)]
    pub classes: usize,
}

/// The origin of a network's weights.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WeightsChoice {
    /// A safetensors file of torchvision's (else timm's) names (default: synthetic
    /// weights)
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Seed of synthetic weights
    #[arg(
        long,
        default_value_t = 0,
        value_name = "S",
        conflicts_with = "weights"
    )]
    pub seed: u64,
}

/// The cores and kernels, or the GPU, that a network runs on.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceChoice {
    /// Threads, each pinned to one of the first cores this process may use (default: all)
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Kernels instead of the fastest: avx512, avx2, neon or plain
    #[arg(long, value_name = "NAME", hide = true, value_parser = parse_family)]
    pub kernels: Option<Family>,
    /// A GPU instead of cores, such as cuda:0
    #[arg(long, value_name = "NAME", conflicts_with_all = ["threads", "kernels"])]
    pub device: Option<String>,
    /// In which numbers the GPU computes: f32, tf32, bf16 or f16 (default: f32)
    #[arg(long, value_name = "NAME", value_parser = parse_precision(), requires = "device")]
    pub precision: Option<Precision>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkListArgs {
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkShowArgs {
    #[command(flatten)]
    pub network: NetworkChoice,
    /// Seed of synthetic weights
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkRunArgs {
    #[command(flatten)]
    pub network: NetworkChoice,
    #[command(flatten)]
    pub weights: WeightsChoice,
    /// Samples as float32: [n, channels, height, width] or [n, features]
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// Where logits go: [n, classes] as float32
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Samples that are run at once at most
    #[arg(long, default_value_t = 8, value_name = "B", value_parser = at_least_one)]
    pub batch: usize,
    #[command(flatten)]
    pub place: PlaceChoice,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkBenchArgs {
    #[command(flatten)]
    pub network: NetworkChoice,
    #[command(flatten)]
    pub weights: WeightsChoice,
    /// Samples in a batch
    #[arg(long, default_value_t = 1, value_name = "B", value_parser = at_least_one)]
    pub batch: usize,
    #[command(flatten)]
    pub place: PlaceChoice,
    /// How long to measure, such as 3s
    #[arg(long, default_value = "3s", value_name = "S", value_parser = parse_seconds)]
    pub duration: Duration,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkWeightsArgs {
    #[command(flatten)]
    pub network: NetworkChoice,
    /// Seed of synthetic weights
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}
