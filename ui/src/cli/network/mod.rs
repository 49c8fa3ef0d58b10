//! `divisi network`: one network alone, its subcommands.

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
    /// List the published networks with what they cost
    List(NetworkListArgs),
    /// Describe a network: its layers, costs, memory, and how synthetic weights are made
    #[command(
        after_help = "Example:\n  divisi network show resnet50\n  divisi network show layers.toml --shape 1,8,8 --format json"
    )]
    Show(NetworkShowArgs),
    /// Answer the samples of a file
    #[command(
        after_help = "Example:\n  divisi network run resnet50 --weights resnet50.safetensors --input x.npy --output y.npy"
    )]
    Run(NetworkRunArgs),
    /// Measure how fast a network runs on this machine's cores or a GPU, and its memory
    #[command(
        after_help = "Example:\n  divisi network bench resnet50 --batch 8 --threads 2 --format json\n  divisi network bench resnet50 --batch 8 --precision int8\n  divisi network bench resnet50 --batch 64 --device cuda:0 --precision bf16"
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
        NetworkCommand::Run(args) => run::run(args),
        NetworkCommand::Bench(args) => bench::run(args),
        NetworkCommand::Weights(args) => weights::run(args),
    }
}
