//! The command line. Each command has a file or a folder.
//!
//! Exit codes: 0 done, 1 failed, 2 misuse.

#![warn(missing_docs, unreachable_pub)]

mod accuracy;
mod allocate;
mod args;
mod attach;
mod background;
mod bench;
mod check;
mod config;
mod console;
mod devices;
mod docs;
#[cfg(debug_assertions)]
mod fragile;
mod keys;
mod logging;
mod man;
mod network;
mod open;
mod output;
mod pick;
mod picture;
mod plan;
mod predict;
mod progress;
mod report;
mod reporting;
mod serve;
mod signals;
mod start;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use divisi::compute::Family;

use args::{CliCommand, CommandLine};

/// Runs the program.
pub fn main() -> ExitCode {
    let args = CommandLine::parse();
    crate::config::begin(args.config.as_deref(), args.theme.as_deref());
    let done = match Family::wished() {
        Ok(_) => run(&args),
        Err(unusable) => Err(unusable.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do where even the error cannot be written.
            let _ = writeln!(io::stderr(), "divisi: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &CommandLine) -> anyhow::Result<()> {
    logging::begin(args)?;
    match &args.command {
        None => console::run(args),
        Some(CliCommand::Check(a)) => check::run(a),
        Some(CliCommand::Predict(a)) => predict::run(a),
        Some(CliCommand::Accuracy(a)) => accuracy::run(a),
        Some(CliCommand::Allocate(a)) => allocate::run(a),
        Some(CliCommand::Bench(a)) => bench::run(a),
        Some(CliCommand::Devices(a)) => devices::run(a),
        Some(CliCommand::Network(c)) => network::run(c),
        Some(CliCommand::Plan(a)) => plan::run(a),
        Some(CliCommand::Config(a)) => config::run(a),
        Some(CliCommand::Keys) => keys::run(),
        Some(CliCommand::Completions { shell }) => man::completions(*shell),
        Some(CliCommand::Man { folder }) => man::manual(folder.as_deref()),
        Some(CliCommand::Picture(a)) => picture::run(a),
        Some(CliCommand::Pick(a)) => pick::run(a),
        Some(CliCommand::Serve(a)) => serve::run(a),
        Some(CliCommand::Attach(a)) => attach::attach(a),
        Some(CliCommand::Servers) => serve::list(),
        Some(CliCommand::Stop(a)) => serve::stop(a),
        Some(CliCommand::Replay(a)) => attach::replay(a),
        Some(CliCommand::Report(a)) => reporting::run(a),
        Some(CliCommand::Demo(a)) => attach::demo(a),
        Some(CliCommand::Docs(a)) => docs::run(a),
    }
}

/// Returns whether the reader closed the pipe early (`| head`), which is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
