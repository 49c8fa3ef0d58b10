//! `divisi network`: one network alone, its subcommands.

mod bench;
mod chosen;
mod files;
mod place;
mod show;

use anyhow::Result;

use super::args::NetworkCommand;

pub(crate) fn run(command: &NetworkCommand) -> Result<()> {
    match command {
        NetworkCommand::List(args) => show::list(args),
        NetworkCommand::Show(args) => show::show(args),
        NetworkCommand::Run(args) => files::logits(args),
        NetworkCommand::Bench(args) => bench::run(args),
        NetworkCommand::Weights(args) => files::weights(args),
    }
}
