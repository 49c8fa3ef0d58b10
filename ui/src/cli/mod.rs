//! The command line. Each command has a file or a folder.
//!
//! Exit codes: 0 done, 1 failed, 2 misuse.

#![warn(missing_docs, unreachable_pub)]

mod accuracy;
mod allocate;
mod args;
mod bench;
mod bounds;
mod calls;
mod check;
mod companion;
mod config;
mod console;
mod control;
mod convert;
mod devices;
mod docs;
#[cfg(debug_assertions)]
mod fragile;
mod goals;
mod jobs;
mod listen;
mod logging;
mod man;
mod network;
mod open;
mod output;
mod pick;
mod picture;
mod plan;
mod predict;
mod quantize;
mod register;
mod report;
mod serve;
mod signals;
mod start;
mod steps;
mod store;
mod tasks;
mod unregister;
mod variants;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use divisi_runtime::compute::Family;
use divisi_runtime::words::one_line;

use accuracy::AccuracyArgs;
use allocate::AllocateArgs;
use bench::BenchArgs;
use check::CheckArgs;
use config::ConfigArgs;
use console::ConsoleArgs;
use convert::ConvertArgs;
use devices::DevicesArgs;
use docs::DocsArgs;
use jobs::{JobsArgs, SubmitArgs};
use logging::LogDetail;
use network::NetworkCommand;
use pick::PickArgs;
use picture::PictureArgs;
use plan::PlanArgs;
use predict::PredictArgs;
use quantize::QuantizeArgs;
use register::RegisterArgs;
use report::ReportArgs;
use serve::{AttachArgs, ServeArgs, StopArgs};
use start::{DemoArgs, ReplayArgs};
use steps::StepsArgs;
use unregister::UnregisterArgs;
use variants::VariantsArgs;

/// Serve ensembles of neural networks on this machine, watch and retune them.
///
/// Without a command it opens the console on ENSEMBLE (the built-in digits).
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  divisi\n  divisi my_ensemble/ --devices cpu:0,cpu:1\n  divisi my_ensemble/ --devices cuda,cpu:0-3 --precision bf16\n  divisi allocate digits --output best.toml"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    console: ConsoleArgs,
    /// How things look: auto, dark, light, high-contrast or a file in themes/
    #[arg(long, value_name = "NAME")]
    theme: Option<String>,
    /// Log events on standard error where there is no screen: error, warn, info, debug or
    /// trace (default: as DIVISI_LOG says, else nothing)
    #[arg(long, value_name = "LEVEL", value_enum, global = true)]
    log: Option<LogDetail>,
    /// The folder of configuration, instead of the user's own
    #[arg(long, value_name = "DIR", global = true)]
    config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Validate an ensemble, a pipeline or a repository of models and describe it: members, steps,
    /// costs, what fits where, or which models can be served and what is not honoured
    #[command(
        after_help = "Example:\n  divisi check sample_ensembles/digits --format json\n  divisi check /srv/models"
    )]
    Check(CheckArgs),
    /// Write a repository of models as manifests, or an ensemble as a repository for Triton
    #[command(
        after_help = "Example:\n  divisi convert /srv/models --out mine\n  divisi convert sample_ensembles/digits-onnx --to triton --out models"
    )]
    Convert(ConvertArgs),
    /// Answer the samples in a file
    #[command(
        after_help = "Example:\n  divisi predict digits --input digits.csv --output answers.csv\n  divisi predict snippets --text 'import numpy as np'\n  divisi predict mine/ --input x.npy --labels y.npy --layout nhwc --members --output answers.npy"
    )]
    Predict(PredictArgs),
    /// Accuracy (or error, or F1) of each member and of the ensemble under each rule, or of a
    /// pipeline
    #[command(after_help = "Example:\n  divisi accuracy digits")]
    Accuracy(AccuracyArgs),
    /// Find the ranges by which networks are computed in int8, from samples, and write them to files
    #[command(
        after_help = "Example:\n  divisi quantize mine/ --calibration train.csv\n  divisi quantize model.onnx --calibration images/ --method entropy\n\nA member of an ensemble that is computed in int8 names its file by `calibration` in the\nmanifest; without a file, ranges are found as values come."
    )]
    Quantize(QuantizeArgs),
    /// Make an ensemble the variants of a task: every sub-ensemble in every precision, its accuracy
    /// counted on labelled samples, its members measured on each kind of device
    #[command(
        after_help = "Example:\n  divisi register digits digits\n  divisi register digits mine/ --input labelled.csv --precisions f32,int8 --price cpu=0.05\n\nRegistering an ensemble of the same name again replaces it. A variant's times are composed of\nthose of its members. Variants that another one beats in accuracy, cost and time are left out."
    )]
    Register(Box<RegisterArgs>),
    /// List the variants of registered tasks, and say which one would answer a query
    #[command(
        after_help = "Example:\n  divisi variants\n  divisi variants digits --accuracy 98.5 --latency 20ms\n  divisi variants digits --sort latency --format csv"
    )]
    Variants(VariantsArgs),
    /// Forget a task and its variants
    #[command(after_help = "Example:\n  divisi unregister digits")]
    Unregister(UnregisterArgs),
    /// Hand over a file of samples that nobody waits for: a server of the task answers them in the gaps
    /// that queries leave
    #[command(
        after_help = "Example:\n  divisi submit digits --input rows.csv --output answers.csv --accuracy 99\n  divisi submit digits --input rows.csv --output answers.csv --notify 'mail -s done me'"
    )]
    Submit(SubmitArgs),
    /// List the jobs that were handed over, and how far they are
    #[command(after_help = "Example:\n  divisi jobs\n  divisi jobs --cancel 3")]
    Jobs(JobsArgs),
    /// Find an allocation matrix
    #[command(
        after_help = "Example:\n  divisi allocate digits --evaluator model --output best.toml\n  divisi allocate imn4 --devices sim:v100*4 --objective latency --rate 100\n  divisi allocate digits --accuracy-loss 0.2 --output best.toml\n\nThe gap is the share of the bound (what no matrix exceeds in the long run, by the\nmodel) that the matrix found lacks in the long run."
    )]
    Allocate(AllocateArgs),
    /// Measure how fast a matrix serves
    #[command(after_help = "Example:\n  divisi bench digits --matrix best.toml --samples 4096")]
    Bench(BenchArgs),
    /// List the devices of this machine, and profiles of simulated devices
    #[command(
        after_help = "Example:\n  divisi devices\n  divisi devices cuda:0\n  divisi devices v100"
    )]
    Devices(DevicesArgs),
    /// One network alone: list, describe, run, measure, write synthetic weights
    #[command(
        subcommand,
        after_help = "Example:\n  divisi network list\n  divisi network bench resnet50 --batch 8"
    )]
    Network(NetworkCommand),
    /// List the kinds of steps that the host runs in pipelines
    #[command(after_help = "Example:\n  divisi steps")]
    Steps(StepsArgs),
    /// Find the cheapest simulated devices that meet a goal
    #[command(
        after_help = "Example:\n  divisi plan imn4 --rate 200 --p99 100 --kinds v100,cpu --most 8"
    )]
    Plan(PlanArgs),
    /// Options, keys and themes: default files, what is in force, what is wrong
    #[command(after_help = "Example:\n  divisi config init\n  divisi config check")]
    Config(ConfigArgs),
    /// The keys of the console, as they are configured
    Keys,
    /// Completions for a shell, to standard output
    #[command(
        after_help = "Example:\n  divisi completions bash > ~/.local/share/bash-completion/completions/divisi"
    )]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Manual pages: one to standard output, or all of them into a folder
    #[command(
        after_help = "Example:\n  divisi man | man -l -\n  divisi man ~/.local/share/man/man1"
    )]
    Man {
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Pictures of the console without a terminal: runs it, types keys, writes the screen
    #[command(
        after_help = "Example:\n  divisi picture digits --size 160x50 --after 3s --keys \"s enter wait:5s 2\" --out search.svg"
    )]
    Picture(PictureArgs),
    /// The desktop's own file dialog, for the console
    #[command(name = "__pick", hide = true)]
    Pick(PickArgs),
    /// Serve without a screen, until `divisi stop` or a signal; `divisi attach` joins it
    #[command(after_help = "Example:\n  divisi serve digits --load none")]
    Serve(Box<ServeArgs>),
    /// Open the console on a server that runs, and leave it without stopping anything
    #[command(after_help = "Example:\n  divisi attach digits")]
    Attach(AttachArgs),
    /// List the servers that run
    Servers,
    /// End a server: it finishes what is under way
    #[command(after_help = "Example:\n  divisi stop digits")]
    Stop(StopArgs),
    /// Play a recording in the console
    #[command(
        after_help = "Example:\n  divisi replay digits.divisi\n\nKeys: space pauses, < and > change the speed, ( and ) go back and forward."
    )]
    Replay(ReplayArgs),
    /// Print once what the console shows: of a recording, a server or an ensemble
    #[command(
        after_help = "Example:\n  divisi report digits --load closed:8x32 --for 5 --format json\n  divisi report digits.divisi --format csv"
    )]
    Report(ReportArgs),
    /// Show what scheduling does: a guided demonstration with captions on the console
    #[command(after_help = "Example:\n  divisi demo --on simulated")]
    Demo(DemoArgs),
    /// The parts of the documentation that are made from the program
    #[command(hide = true)]
    Docs(DocsArgs),
}

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
            let text = format!("divisi: {error:#}");
            let _ = text
                .lines()
                .try_for_each(|line| writeln!(io::stderr(), "{}", one_line(line)));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &CommandLine) -> anyhow::Result<()> {
    logging::begin(args.log, owns_terminal(args))?;
    match &args.command {
        None => console::run(&args.console),
        Some(CliCommand::Check(a)) => check::run(a),
        Some(CliCommand::Convert(a)) => convert::run(a),
        Some(CliCommand::Predict(a)) => predict::run(a),
        Some(CliCommand::Accuracy(a)) => accuracy::run(a),
        Some(CliCommand::Quantize(a)) => quantize::run(a),
        Some(CliCommand::Register(a)) => register::run(a),
        Some(CliCommand::Variants(a)) => variants::run(a),
        Some(CliCommand::Unregister(a)) => unregister::run(a),
        Some(CliCommand::Submit(a)) => jobs::submit(a),
        Some(CliCommand::Jobs(a)) => jobs::list(a),
        Some(CliCommand::Allocate(a)) => allocate::run(a),
        Some(CliCommand::Bench(a)) => bench::run(a),
        Some(CliCommand::Devices(a)) => devices::run(a),
        Some(CliCommand::Network(c)) => network::run(c),
        Some(CliCommand::Steps(a)) => steps::run(a),
        Some(CliCommand::Plan(a)) => plan::run(a),
        Some(CliCommand::Config(a)) => config::run(a),
        Some(CliCommand::Keys) => man::keys(),
        Some(CliCommand::Completions { shell }) => man::completions(*shell, CommandLine::command()),
        Some(CliCommand::Man { folder }) => man::manual(folder.as_deref(), CommandLine::command()),
        Some(CliCommand::Picture(a)) => picture::run(a),
        Some(CliCommand::Pick(a)) => pick::run(a),
        Some(CliCommand::Serve(a)) => serve::run(a),
        Some(CliCommand::Attach(a)) => serve::attach(a),
        Some(CliCommand::Servers) => serve::list(),
        Some(CliCommand::Stop(a)) => serve::stop(a),
        Some(CliCommand::Replay(a)) => start::replay(a),
        Some(CliCommand::Report(a)) => report::run(a),
        Some(CliCommand::Demo(a)) => start::demo(a),
        Some(CliCommand::Docs(a)) => docs::run(a, CommandLine::command()),
    }
}

/// Returns whether the command draws a screen.
fn owns_terminal(args: &CommandLine) -> bool {
    match &args.command {
        None => !args.console.linear,
        Some(command) => matches!(
            command,
            CliCommand::Attach(_) | CliCommand::Replay(_) | CliCommand::Demo(_)
        ),
    }
}

/// Returns whether the reader closed the pipe early (`| head`), which is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
