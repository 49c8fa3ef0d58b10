//! The command line. Each command has a file or a folder.
//!
//! Exit codes: 0 done, 1 failed, 2 misuse.

#![warn(missing_docs, unreachable_pub)]

mod accuracy;
mod allocate;
mod args;
mod arguments;
mod bench;
mod bounds;
mod calls;
mod check;
mod companion;
mod config;
mod console;
mod control;
mod convert;
mod device_profile;
mod devices;
#[cfg(debug_assertions)]
mod fragile;
mod goals;
mod health;
mod help;
mod input;
mod jobs;
mod listen;
mod logging;
mod man;
mod measured_host;
mod near;
mod network;
mod open;
mod outcome;
mod output;
mod pick;
mod picture;
mod plan;
mod predict;
mod predicted;
mod profiles;
mod quantize;
mod register;
mod report;
mod reporting;
mod search;
mod sent_load;
mod serve;
mod signals;
mod start;
mod steps;
mod store;
mod supervisor;
mod tables;
mod tasks;
mod times;
mod unregister;
mod variants;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use divisi_runtime::compute::Family;
use divisi_runtime::device::host::recent_load;

use accuracy::AccuracyArgs;
use allocate::AllocateArgs;
use args::GeneralOptions;
use arguments::{check_command, with_command_first};
use bench::BenchArgs;
use check::CheckArgs;
use config::ConfigArgs;
use console::ConsoleArgs;
use convert::ConvertArgs;
use devices::DevicesArgs;
use health::HealthArgs;
use jobs::{JobsArgs, SubmitArgs};
use network::NetworkCommand;
use outcome::{complain, exit_code, is_closed_pipe};
use pick::PickArgs;
use picture::PictureArgs;
use plan::PlanArgs;
use predict::PredictArgs;
use profiles::ProfilesArgs;
use quantize::QuantizeArgs;
use register::RegisterArgs;
use report::ReportArgs;
use serve::{AttachArgs, ServeArgs, ServersArgs, StopArgs};
use start::{DemoArgs, ReplayArgs};
use steps::StepsArgs;
use unregister::UnregisterArgs;
use variants::VariantsArgs;

pub use man::{CODES, FILES, environment, key_heading, path_of};

/// The version, the commit and the kinds of devices: see `build.rs`.
const VERSION: &str = env!("DIVISI_VERSION");

/// Serve ensembles of neural networks on this machine; watch and retune them.
///
/// Without a command, opens the console on ENSEMBLE (default: digits).
#[derive(Debug, Parser)]
#[command(
    version = VERSION,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  divisi\n  divisi my_ensemble/ --devices cpu:0,cpu:1\n  divisi my_ensemble/ --devices cuda,cpu:0-3 --precision bf16\n  divisi allocate digits --output best.toml"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    console: ConsoleArgs,
    /// Theme: auto, dark, light, high-contrast or a file in themes/
    #[arg(long, value_name = "NAME")]
    theme: Option<String>,
    #[command(flatten)]
    general: GeneralOptions,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Validate and describe an ensemble, a pipeline or a model repository
    #[command(
        after_help = "Example:\n  divisi check sample_ensembles/digits --format json\n  divisi check /srv/models"
    )]
    Check(CheckArgs),
    /// Convert a model repository to manifests, or an ensemble to a Triton repository
    #[command(
        after_help = "Example:\n  divisi convert /srv/models --out mine\n  divisi convert sample_ensembles/digits-onnx --to triton --out models"
    )]
    Convert(ConvertArgs),
    /// Answer the samples in a file
    #[command(
        after_help = "Example:\n  divisi predict digits --input digits.csv --output answers.csv\n  divisi predict snippets --text 'import numpy as np'\n  divisi predict mine/ --input x.npy --labels y.npy --layout nhwc --members --output answers.npy\n\nLabels in the input (a last CSV column `label`, folders of classes) are compared with the answers.\nText fields of .csv, .json and .jsonl files are named `text`. An .npy output has the shape\n[samples, width]; with --members [members + 1, samples, width], the ensemble last."
    )]
    Predict(PredictArgs),
    /// Measure the accuracy (or error, or F1) of an ensemble and its members
    #[command(after_help = "Example:\n  divisi accuracy digits")]
    Accuracy(AccuracyArgs),
    /// Calibrate networks for int8 from samples
    #[command(
        after_help = "Example:\n  divisi quantize mine/ --calibration train.csv\n  divisi quantize model.onnx --calibration images/ --method entropy\n\nSet `calibration` of each int8 member in the manifest to its file. Without a file, int8\nranges are computed at run time. --keep auto keeps the first and the last layer with weights\nin float32, each if it causes more than a quarter of the error (more if layers are few)."
    )]
    Quantize(QuantizeArgs),
    /// Measure an ensemble so that clients can ask by accuracy and latency
    #[command(
        after_help = "Example:\n  divisi register digits digits\n  divisi register digits mine/ --input labelled.csv --precisions f32,int8 --price cpu=0.05\n\nA variant is a sub-ensemble in one precision on one kind of device. Its time is the sum of its\nmembers' times. Variants worse than another in accuracy, cost and time are left out. The whole\nensemble is always kept in the first precision. Registering the same name again replaces it."
    )]
    Register(Box<RegisterArgs>),
    /// List the variants of registered tasks, or show the choice for goals
    #[command(
        after_help = "Example:\n  divisi variants\n  divisi variants digits --accuracy 98.5 --latency 20ms\n  divisi variants digits --sort latency --format csv"
    )]
    Variants(VariantsArgs),
    /// List the kept measurements of networks, or remove them
    #[command(after_help = "Example:\n  divisi profiles\n  divisi profiles --clear disturbed")]
    Profiles(ProfilesArgs),
    /// Remove a task, or some of its ensembles
    #[command(after_help = "Example:\n  divisi unregister digits\n  divisi unregister digits old")]
    Unregister(UnregisterArgs),
    /// Queue a batch job; a server of the task runs it while idle
    #[command(
        after_help = "Example:\n  divisi submit digits --input rows.csv --output answers.csv --accuracy 99\n  divisi submit digits --input rows.csv --output answers.csv --notify 'mail -s done me'"
    )]
    Submit(SubmitArgs),
    /// List batch jobs with their progress, cancel a job, or clear finished jobs
    #[command(
        after_help = "Example:\n  divisi jobs\n  divisi jobs --cancel 3\n  divisi jobs --clear"
    )]
    Jobs(JobsArgs),
    /// Search for an allocation matrix
    #[command(
        after_help = "Example:\n  divisi allocate digits --evaluator model --output best.toml\n  divisi allocate imn4 --devices sim:v100*4 --objective latency --rate 100\n  divisi allocate digits --accuracy-loss 0.2 --output best.toml\n\nbound: the highest long-run throughput of any matrix, by the model\ngap: the share of the bound by which the result falls short"
    )]
    Allocate(AllocateArgs),
    /// Measure the throughput and latency of an allocation matrix
    #[command(after_help = "Example:\n  divisi bench digits --matrix best.toml --samples 4096")]
    Bench(BenchArgs),
    /// List this machine's devices and the profiles of simulated devices
    #[command(
        after_help = "Example:\n  divisi devices\n  divisi devices cuda:0\n  divisi devices v100\n  divisi devices --profile cpu:0 --out my_cpu.toml"
    )]
    Devices(DevicesArgs),
    /// List, describe, run and measure single networks
    #[command(
        subcommand,
        after_help = "Example:\n  divisi network list\n  divisi network bench resnet50 --batch 8"
    )]
    Network(NetworkCommand),
    /// List the kinds of host steps for pipelines
    #[command(after_help = "Example:\n  divisi steps")]
    Steps(StepsArgs),
    /// Find the cheapest devices for a load and a latency
    #[command(
        after_help = "Example:\n  divisi plan imn4 --rate 200 --p99 100 --kinds v100,cpu --most 8\n  divisi plan digits --rate 5000 --p99 20 --kinds here,l4,a10 --price here=0.2"
    )]
    Plan(PlanArgs),
    /// Write, show and check options, keys and themes
    #[command(after_help = "Example:\n  divisi config init\n  divisi config check")]
    Config(ConfigArgs),
    /// Print the keys of the console
    Keys,
    /// Print shell completions
    #[command(
        after_help = "Example:\n  divisi completions bash > ~/.local/share/bash-completion/completions/divisi"
    )]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all pages to a folder
    #[command(
        after_help = "Example:\n  divisi man | man -l -\n  divisi man ~/.local/share/man/man1"
    )]
    Man {
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Replace pages that exist
        #[arg(long)]
        force: bool,
    },
    /// Run the console without a terminal and write its screen to files
    #[command(
        after_help = "Example:\n  divisi picture digits --size 160x50 --after 3s --keys \"s enter wait:5s 2\" --out search.svg"
    )]
    Picture(PictureArgs),
    /// Open the desktop's file dialog for the console
    #[command(name = "__pick", hide = true)]
    Pick(PickArgs),
    /// Serve without a console, until `divisi stop` or a signal
    #[command(after_help = "Example:\n  divisi serve digits --load none")]
    Serve(Box<ServeArgs>),
    /// Open the console on a running server
    #[command(after_help = "Example:\n  divisi attach digits")]
    Attach(AttachArgs),
    /// List the running servers
    Servers(ServersArgs),
    /// Stop a server after its requests in progress
    #[command(after_help = "Example:\n  divisi stop\n  divisi stop digits")]
    Stop(StopArgs),
    /// Check over HTTP that a server is ready, for probes of containers
    #[command(
        after_help = "Example:\n  divisi health\n  divisi health --http 127.0.0.1:9000\n\nExit code: 0 if every model is ready, 1 otherwise."
    )]
    Health(HealthArgs),
    /// Play a recording in the console
    #[command(
        after_help = "Example:\n  divisi replay digits.divisi\n\nKeys: space pauses, < and > change the speed, ( and ) seek."
    )]
    Replay(ReplayArgs),
    /// Print the console's contents once, for a recording, server or ensemble
    #[command(
        after_help = "Example:\n  divisi report digits --load closed:8x32 --for 5 --format json\n  divisi report digits.divisi --format csv"
    )]
    Report(ReportArgs),
    /// Run a guided demonstration of scheduling in the console
    #[command(after_help = "Example:\n  divisi demo --on simulated")]
    Demo(DemoArgs),
}

/// Returns the program with its commands and their options.
pub fn program() -> clap::Command {
    CommandLine::command()
}

/// Runs the program.
pub fn main() -> ExitCode {
    match parsed().and_then(|args| begin(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !is_closed_pipe(&error) {
                complain(&error);
            }
            exit_code(&error)
        }
    }
}

/// Prepares the process and runs the command.
fn begin(args: &CommandLine) -> anyhow::Result<()> {
    // The first reading of the host's load; default devices depend on the load since then.
    recent_load();
    let general = &args.general;
    output::be_quiet(general.quiet);
    crate::config::begin(
        general.config.as_deref(),
        args.theme.as_deref(),
        general.color,
    );
    Family::from_environment()?;
    run(args)
}

/// Returns the command line. Clap prints its help and its errors, and ends the process.
fn parsed() -> anyhow::Result<CommandLine> {
    let program = CommandLine::command();
    let arguments = with_command_first(&program, std::env::args_os().collect());
    check_command(&program, &arguments)?;
    let matches = help::grouped(program, &arguments).get_matches_from(arguments);
    let mut line = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let (Some(CliCommand::Report(report)), Some(matches)) =
        (&mut line.command, matches.subcommand_matches("report"))
    {
        report.names_none = matches.value_source("ensemble") == Some(ValueSource::DefaultValue);
    }
    Ok(line)
}

fn run(args: &CommandLine) -> anyhow::Result<()> {
    logging::begin(args.general.log_detail(), owns_terminal(args))?;
    check_name(args)?;
    match &args.command {
        None => console::run(&args.console),
        Some(CliCommand::Check(a)) => check::run(a),
        Some(CliCommand::Convert(a)) => convert::run(a),
        Some(CliCommand::Predict(a)) => predict::run(a),
        Some(CliCommand::Accuracy(a)) => accuracy::run(a),
        Some(CliCommand::Quantize(a)) => quantize::run(a),
        Some(CliCommand::Register(a)) => register::run(a),
        Some(CliCommand::Variants(a)) => variants::run(a),
        Some(CliCommand::Profiles(a)) => profiles::run(a),
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
        Some(CliCommand::Man { folder, force }) => {
            man::manual(folder.as_deref(), *force, CommandLine::command())
        }
        Some(CliCommand::Picture(a)) => picture::run(a),
        Some(CliCommand::Pick(a)) => pick::run(a),
        Some(CliCommand::Health(a)) => health::run(a),
        Some(CliCommand::Serve(a)) => serve::run(a),
        Some(CliCommand::Attach(a)) => serve::attach(a),
        Some(CliCommand::Servers(a)) => serve::list(a),
        Some(CliCommand::Stop(a)) => serve::stop(a),
        Some(CliCommand::Replay(a)) => start::replay(a),
        Some(CliCommand::Report(a)) => report::run(a),
        Some(CliCommand::Demo(a)) => start::demo(a),
    }
}

/// Refuses an unknown name in the place of an ensemble, before anything else begins.
fn check_name(args: &CommandLine) -> anyhow::Result<()> {
    match &args.command {
        None => near::check_command(args.console.ensemble(), &program()),
        Some(CliCommand::Report(report)) => report.check_target(),
        Some(command) => match command.target() {
            Some(path) => near::check(path, "ensemble", Vec::new()),
            None => Ok(()),
        },
    }
}

impl CliCommand {
    /// Returns the ensemble that the command names, or `None` if it takes no ensemble only.
    fn target(&self) -> Option<&Path> {
        let target = match self {
            CliCommand::Check(a) => &a.target,
            CliCommand::Predict(a) => &a.target,
            CliCommand::Accuracy(a) => &a.target,
            CliCommand::Register(a) => &a.target,
            CliCommand::Allocate(a) => &a.target,
            CliCommand::Bench(a) => &a.target,
            CliCommand::Serve(a) => return Some(a.ensemble()),
            CliCommand::Plan(a) => return Some(&a.ensemble),
            CliCommand::Convert(a) => return Some(&a.from),
            _ => return None,
        };
        Some(&target.ensemble)
    }
}

/// Returns whether the command draws a screen.
fn owns_terminal(args: &CommandLine) -> bool {
    match &args.command {
        None => !args.console.linear,
        Some(CliCommand::Attach(_) | CliCommand::Replay(_) | CliCommand::Demo(_)) => true,
        Some(_) => false,
    }
}
