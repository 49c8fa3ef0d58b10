//! `divisi network`: one network alone, one file a subcommand.

mod bench;
mod chosen;
mod list;
mod memory;
mod place;
mod run;
mod show;
mod weights;

use anyhow::Result;

use super::args::NetworkCommand;

pub fn run(command: &NetworkCommand) -> Result<()> {
    match command {
        NetworkCommand::List(args) => list::run(args),
        NetworkCommand::Show(args) => show::run(args),
        NetworkCommand::Run(args) => run::run(args),
        NetworkCommand::Bench(args) => bench::run(args),
        NetworkCommand::Weights(args) => weights::run(args),
    }
}

/// What every report says of weights that nobody trained.
const SYNTHETIC: &str = "synthetic weights";
