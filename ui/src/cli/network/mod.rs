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
    Show(NetworkShowArgs),
    /// Answer the samples in a file
    Run(NetworkRunArgs),
    /// Measure a network's speed and memory on cores or a GPU
    Bench(NetworkBenchArgs),
    /// Write a network's synthetic weights as safetensors
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
