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
mod web;

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
#[command(version = VERSION, args_conflicts_with_subcommands = true)]
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
    Check(CheckArgs),
    /// Convert a model repository to manifests, or an ensemble to a Triton repository
    Convert(ConvertArgs),
    /// Answer the samples in a file
    Predict(PredictArgs),
    /// Measure the accuracy (or error, or F1) of an ensemble and its members
    Accuracy(AccuracyArgs),
    /// Calibrate networks for int8 from samples
    Quantize(QuantizeArgs),
    /// Measure an ensemble so that clients can ask by accuracy and latency
    Register(Box<RegisterArgs>),
    /// List the variants of registered tasks, or show the choice for goals
    Variants(VariantsArgs),
    /// List the kept measurements of networks, or remove them
    Profiles(ProfilesArgs),
    /// Remove a task, or some of its ensembles
    Unregister(UnregisterArgs),
    /// Queue a batch job; a server of the task runs it while idle
    Submit(SubmitArgs),
    /// List batch jobs with their progress, cancel a job, or clear finished jobs
    Jobs(JobsArgs),
    /// Search for an allocation matrix
    Allocate(AllocateArgs),
    /// Measure the throughput and latency of an allocation matrix
    Bench(BenchArgs),
    /// List this machine's devices and the profiles of simulated devices
    Devices(DevicesArgs),
    /// List, describe, run and measure single networks
    #[command(subcommand)]
    Network(NetworkCommand),
    /// List the kinds of host steps for pipelines
    Steps(StepsArgs),
    /// Find the cheapest devices for a load and a latency
    Plan(PlanArgs),
    /// Write, show and check options, keys and themes
    Config(ConfigArgs),
    /// Print the keys of the console
    Keys,
    /// Print shell completions
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all pages to a folder
    Man {
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Replace pages that exist
        #[arg(long)]
        force: bool,
    },
    /// Run the console without a terminal and write its screen to files
    Picture(PictureArgs),
    /// Open the desktop's file dialog for the console
    #[command(name = "__pick", hide = true)]
    Pick(PickArgs),
    /// Serve without a console, until `divisi stop` or a signal
    Serve(Box<ServeArgs>),
    /// Open the console on a running server
    Attach(AttachArgs),
    /// List the running servers
    Servers(ServersArgs),
    /// Stop a server after its requests in progress
    Stop(StopArgs),
    /// Check over HTTP that a server is ready, for probes of containers
    Health(HealthArgs),
    /// Play a recording in the console
    Replay(ReplayArgs),
    /// Print the console's contents once, for a recording, server or ensemble
    Report(ReportArgs),
    /// Run a guided demonstration of scheduling in the console
    Demo(DemoArgs),
}

/// Returns the program with its commands and their options.
pub fn program() -> clap::Command {
    help::with_examples(CommandLine::command(), "divisi")
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
    let program = program();
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
        Some(CliCommand::Completions { shell }) => man::completions(*shell, program()),
        Some(CliCommand::Man { folder, force }) => {
            man::manual(folder.as_deref(), *force, program())
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
