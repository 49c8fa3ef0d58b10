//! What can be said on the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use divisi::device::parse_bytes;
use divisi::ensemble::PolicyKind;
use divisi::load::LoadPattern;
use divisi::search::{Algorithm, EvaluatorKind, Objective};

use super::config::ConfigArgs;
use super::picture::PictureArgs;
use crate::config::time;
use crate::console::demo::Stage;

/// Serve ensembles of neural networks on this machine, watch and retune them.
///
/// Without a command it opens the console on ENSEMBLE (the built-in digits).
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  divisi\n  divisi my_ensemble/ --devices cpu:0,cpu:1\n  divisi allocate digits --output best.toml"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub target: Target,
    /// Start with the matrix in this file instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Load to begin with: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], none
    #[arg(long, value_name = "PATTERN", default_value = "poisson:200", value_parser = parse_start_load)]
    pub load: StartLoad,
    /// Record all that is shown to a new FILE, to be played by `divisi replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Watch only: nothing can be changed
    #[arg(long)]
    pub read_only: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    pub no_mouse: bool,
    /// No screen: changes as lines, for screen readers and logs; commands are read as
    /// lines (also where TERM is dumb)
    #[arg(long)]
    pub linear: bool,
    /// Between summaries in linear mode, such as 5s (default: as configured)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub every: Option<Duration>,
    /// Panic after a while, on the console's thread or another
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_enum)]
    pub panic_for_test: Option<super::fragile::Panics>,
    /// How things look: auto, dark, light, high-contrast or a file in themes/
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// The folder of configuration, instead of the user's own
    #[arg(long, value_name = "DIR", global = true)]
    pub config: Option<PathBuf>,
}

/// The load a console begins with.
#[derive(Clone, Debug)]
pub enum StartLoad {
    None,
    Pattern(LoadPattern),
}

pub fn parse_start_load(text: &str) -> Result<StartLoad, String> {
    match text {
        "none" => Ok(StartLoad::None),
        text => text.parse().map(StartLoad::Pattern),
    }
}

/// What to serve and on what.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// An ensemble's folder or manifest, or a built-in one: digits, imn1, imn4, imn12, fos14, cif36
    #[arg(default_value = "digits", value_name = "ENSEMBLE")]
    pub ensemble: PathBuf,
    /// Devices, split by commas: cpu:0, cpu:0-1, sim:v100*16, sim:my_gpu.toml (default:
    /// the manifest's, else one a core)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// Memory that serving may take at most, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Validate an ensemble and describe it: members, costs, what fits where
    #[command(after_help = "Example:\n  divisi check sample_ensembles/digits --format json")]
    Check(CheckArgs),
    /// Answer the samples in a file
    #[command(
        after_help = "Example:\n  divisi predict digits --input digits.csv --output answers.csv"
    )]
    Predict(PredictArgs),
    /// Accuracy of each member and of the ensemble under each rule
    #[command(after_help = "Example:\n  divisi accuracy digits")]
    Accuracy(AccuracyArgs),
    /// Find an allocation matrix
    #[command(
        after_help = "Example:\n  divisi allocate digits --evaluator model --output best.toml\n  divisi allocate imn4 --devices sim:v100*4 --objective latency --rate 100\n\nThe gap is the share of the bound (what no matrix exceeds in the long run, by the\nmodel) that the matrix found lacks in the long run."
    )]
    Allocate(AllocateArgs),
    /// Measure how fast a matrix serves
    #[command(after_help = "Example:\n  divisi bench digits --matrix best.toml --samples 4096")]
    Bench(BenchArgs),
    /// Profiles of simulated devices, with where each number comes from
    #[command(after_help = "Example:\n  divisi devices v100")]
    Devices(DevicesArgs),
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
    Pick(super::pick::PickArgs),
    /// Serve without a screen, until `divisi stop` or a signal; `divisi attach` joins it
    #[command(after_help = "Example:\n  divisi serve digits --load none")]
    Serve(ServeArgs),
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
}

#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub target: Target,
    /// Start with the matrix in this file instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Load to begin with, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "none", value_parser = parse_start_load)]
    pub load: StartLoad,
    /// What others call it (default: the ensemble's name)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Record all that is shown to a new FILE
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
pub struct AttachArgs {
    /// A server's name, or its socket's path (default: the only one that runs)
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Watch only: nothing can be changed
    #[arg(long)]
    pub read_only: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    pub no_mouse: bool,
    /// Print changes as lines instead of drawing a screen
    #[arg(long)]
    pub linear: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct StopArgs {
    /// A server's name, or its socket's path
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// A recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    pub no_mouse: bool,
    /// Print changes as lines instead of drawing a screen
    #[arg(long)]
    pub linear: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// A recording, a server that runs, or an ensemble, which is served for a moment
    #[command(flatten)]
    pub target: Target,
    /// The matrix an ensemble is served by (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Load that an ensemble is served with
    #[arg(long, value_name = "PATTERN", default_value = "closed:8x32", value_parser = parse_start_load)]
    pub load: StartLoad,
    /// Seconds that an ensemble is served for
    #[arg(long = "for", value_name = "SECONDS", default_value = "5s", value_parser = parse_seconds)]
    pub lasts: Duration,
    /// How it is written (default: as configured, or else text)
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
}

/// How a report of what the console shows is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
    Csv,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>();
    let seconds = number.ok().filter(|s| (0.1..=86_400.0).contains(s));
    let seconds = seconds.map(Duration::from_secs_f64);
    seconds.ok_or_else(|| format!("expected seconds, 0.1 to 86400, found `{text}`"))
}

#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// digits (this machine's devices) or simulated (imn12 on 16 simulated GPUs)
    #[arg(long, value_name = "STAGE", default_value = "digits")]
    pub on: Stage,
    /// Go on by itself at the end of each scene, and begin again after the last
    #[arg(long)]
    pub auto: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    pub no_mouse: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub target: Target,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct DevicesArgs {
    /// A built-in profile, or a .toml file of yours, with or without `sim:` (default:
    /// all that are built in)
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub target: Target,
    /// Samples: a .csv with a header (a last column `label` is compared with), or .npy
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// Where answers go, as CSV (default: standard output)
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Serve by the matrix in this file
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct AccuracyArgs {
    #[command(flatten)]
    pub target: Target,
    /// Labelled samples (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct AllocateArgs {
    #[command(flatten)]
    pub target: Target,
    /// worst-fit, best-batch, greedy (the paper's) or local (moves of one and two
    /// entries from several starts; the model only) (default: local with the model,
    /// else greedy)
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<Algorithm>,
    /// bench (matrices run) or model (predicted from profiles, then the best few run)
    /// (default: model where every device is simulated, else bench)
    #[arg(long, value_name = "NAME")]
    pub evaluator: Option<EvaluatorKind>,
    /// Iterations of greedy at most
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub max_iter: usize,
    /// Neighbours scored in an iteration of greedy at most (default: 100, with the
    /// model all)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_neighs: Option<usize>,
    /// Climbs of local after the first, from places around the best
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub restarts: usize,
    /// Matrices that are run after a search by the model; 0: predictions only
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub finalists: usize,
    /// throughput or latency (p99 under load, in virtual time)
    #[arg(long, default_value = "throughput", value_name = "NAME")]
    pub objective: Objective,
    /// 99 of 100 requests are to be answered within so many milliseconds
    #[arg(long, value_name = "MS", value_parser = parse_millis)]
    pub p99: Option<Duration>,
    /// One-sample requests a second that are to be served (default, for latencies: 60 %
    /// of the best throughput)
    #[arg(long, value_name = "R", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Memory that is to stay free on every device, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_spare)]
    pub spare_memory: Option<u64>,
    /// What runs and simulations batch by: no-wait, opt-wait[:MS], pipelined-opt-wait[:MS],
    /// static[:MS], segment[:MS] or elastic[:MAXINF] (default: the manifest's)
    #[arg(long, value_name = "P")]
    pub policy: Option<PolicyKind>,
    /// Seed of what is drawn at random
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// Repeat with the next seeds and give median and spread
    #[arg(long, default_value_t = 1, value_name = "R", value_parser = at_least_one)]
    pub repeat: usize,
    /// Write the best matrix to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Neither read nor write cached results
    #[arg(long)]
    pub no_cache: bool,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub target: Target,
    /// The matrix to run (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Samples in each run
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = at_least_one)]
    pub samples: usize,
    /// Runs; the median is given
    #[arg(long, default_value_t = 5, value_name = "R", value_parser = at_least_one)]
    pub runs: usize,
    /// no-wait, opt-wait[:MS], pipelined-opt-wait[:MS], static[:MS], segment[:MS] or
    /// elastic[:MAXINF] (default: the manifest's)
    #[arg(long, value_name = "P")]
    pub policy: Option<PolicyKind>,
    /// Samples alive on a device at most under elastic (default: the policy's)
    #[arg(long, value_name = "DEVICE=N", value_delimiter = ',')]
    pub max_inf: Vec<MaxInf>,
    /// Samples in a segment (default: the manifest's)
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub segment: Option<usize>,
    /// closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE or burst[:RATE] (default: all at once)
    #[arg(long, value_name = "PATTERN")]
    pub load: Option<LoadPattern>,
    /// Let simulated devices take real time, beside the load generator
    #[arg(long)]
    pub real_time: bool,
    /// Constants instead of networks: measures the system itself and checks the combination
    #[arg(long)]
    pub fake: bool,
    /// Seed of random arrivals
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Debug, clap::Args)]
pub struct PlanArgs {
    /// An ensemble's folder or manifest, or a built-in one
    #[arg(value_name = "ENSEMBLE")]
    pub ensemble: PathBuf,
    /// One-sample requests a second that are to be served
    #[arg(long, value_name = "R", value_parser = parse_rate)]
    pub rate: f64,
    /// 99 of 100 of them within so many milliseconds
    #[arg(long, value_name = "MS", value_parser = parse_millis)]
    pub p99: Option<Duration>,
    /// Kinds of devices to choose from: built-in profiles or .toml files, with or
    /// without `sim:`
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "v100"
    )]
    pub kinds: Vec<String>,
    /// Devices at most, of all kinds together
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = at_least_one)]
    pub most: usize,
    /// Memory that is to stay free on every device, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_spare)]
    pub spare_memory: Option<u64>,
    /// What simulations batch by, as for `allocate` (default: the manifest's)
    #[arg(long, value_name = "P")]
    pub policy: Option<PolicyKind>,
    /// Search beyond the answer, for a longer list of what could be had
    #[arg(long)]
    pub pareto: bool,
    /// Seed of what is drawn at random
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// Write the answer's matrix to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// A device's bound on the samples it has alive.
#[derive(Clone, Debug)]
pub struct MaxInf {
    pub device: String,
    pub samples: NonZeroU32,
}

impl FromStr for MaxInf {
    type Err = String;

    /// `sim:v100:0=64`
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=');
        let parsed = parts.and_then(|(device, samples)| {
            Some(MaxInf {
                device: device.to_owned(),
                samples: samples.parse().ok()?,
            })
        });
        parsed
            .ok_or_else(|| format!("expected DEVICE=SAMPLES with SAMPLES above 0, found `{text}`"))
    }
}

fn parse_millis(text: &str) -> Result<Duration, String> {
    let millis = text.parse::<f64>().ok();
    let millis = millis.filter(|ms| (0.001..=3_600_000.0).contains(ms));
    let millis = millis.map(|ms| Duration::from_secs_f64(ms / 1e3));
    millis.ok_or_else(|| format!("expected milliseconds, 0.001 to 3600000, found `{text}`"))
}

/// A size, or none at all.
fn parse_spare(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>();
    if number == Ok(0.0) && parse_bytes(&format!("1{unit}")).is_ok() {
        return Ok(0);
    }
    parse_bytes(text)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|r| (1e-3..=1e7).contains(r));
    rate.ok_or_else(|| format!("expected samples a second, 0.001 to 10000000, found `{text}`"))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1 << 30).contains(n))
        .ok_or_else(|| {
            format!(
                "expected a whole number from 1 to {}, found `{text}`",
                1 << 30
            )
        })
}
