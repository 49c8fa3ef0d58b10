//! `divisi network`: the subcommands for a single network.

mod answers;
mod bench;
pub(super) mod chosen;
mod plan;
mod run;
mod samples;
mod show;
mod weights;

use anyhow::Result;
use clap::Subcommand;

use bench::NetworkBenchArgs;
use run::NetworkRunArgs;
use show::{NetworkListArgs, NetworkShowArgs};
use weights::NetworkWeightsArgs;

/// The subcommands of `divisi network`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum NetworkCommand {
    /// List the published networks and their costs
    List(NetworkListArgs),
    /// Describe a network: layers, costs, memory, recipe of synthetic weights
    #[command(
        after_help = "Example:\n  divisi network show resnet50\n  divisi network show layers.toml --shape 1,8,8 --format json"
    )]
    Show(NetworkShowArgs),
    /// Answer the samples in a file
    #[command(
        after_help = "Example:\n  divisi network run resnet50 --weights resnet50.safetensors --input x.npy --output y.npy\n\nInput with several tensors: {\"inputs\": [{\"name\", \"datatype\", \"shape\", \"data\"}, ...]} in a .json\nfile or in each line of a .jsonl file, or one array per tensor in an .npz file. Output: float32\n[n, classes] in .npy, named tensors in .json, or one line per sample in .jsonl."
    )]
    Run(NetworkRunArgs),
    /// Measure a network's speed and memory on cores or a GPU
    #[command(
        after_help = "Example:\n  divisi network bench resnet50 --batch 8 --threads 2 --format json\n  divisi network bench resnet50 --batch 8 --precision int8\n  divisi network bench resnet50 --batch 64 --device cuda:0 --precision bf16"
    )]
    Bench(NetworkBenchArgs),
    /// Write a network's synthetic weights as safetensors
    #[command(
        after_help = "Example:\n  divisi network weights resnet50 --seed 7 --output resnet50.safetensors"
    )]
    Weights(NetworkWeightsArgs),
}

pub(crate) fn run(command: &NetworkCommand) -> Result<()> {
    match command {
        NetworkCommand::List(args) => show::list(args),
        NetworkCommand::Show(args) => show::show(args),
        NetworkCommand::Run(args) => run::run(args),
        NetworkCommand::Bench(args) => bench::run(args),
        NetworkCommand::Weights(args) => weights::run(args),
    }
}
