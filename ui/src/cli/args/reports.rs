//! The arguments of commands that report once.

use std::path::PathBuf;
use std::time::Duration;

use divisi::ensemble::{ImageLayout, PolicyKind};
use divisi::load::LoadPattern;
use divisi::search::{Algorithm, EvaluatorKind, Objective};

use super::values::{
    MaxInf, OutputFormat, ServingTarget, at_least_one, parse_millis, parse_rate, parse_spare,
};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DevicesArgs {
    /// One alone: a GPU (cuda:0), a built-in profile, or a .toml file of yours, with or
    /// without `sim:` (default: cores, GPUs and all that are built in)
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

/// The options of a file of samples.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SampleFiles {
    /// Labels of the samples, where their file has none: an .npy of whole numbers or
    /// class names, or a .csv with a column `label`
    #[arg(long, value_name = "FILE", requires = "input")]
    pub labels: Option<PathBuf>,
    /// In which order the file holds images: nchw or nhwc (default: the manifest's)
    #[arg(long, value_name = "NAME", requires = "input")]
    pub layout: Option<ImageLayout>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    /// Samples: a .csv with a header (a last column `label` is compared with), or .npy
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    #[command(flatten)]
    pub files: SampleFiles,
    /// Also answer for each member
    #[arg(long)]
    pub members: bool,
    /// Where answers go, as the name ends: .csv, .json or .npy, there [samples, classes]
    /// or, with members, [members + 1, samples, classes], the ensemble last (default:
    /// CSV on standard output)
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Serve by the matrix in this file
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AccuracyArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    /// Labelled samples (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    #[command(flatten)]
    pub files: SampleFiles,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub target: ServingTarget,
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
    /// The batching policy of runs and simulations: no-wait, opt-wait[:MS], pipelined-opt-wait[:MS],
    /// static[:MS], segment[:MS] or elastic[:MAXINF] (default: the manifest's)
    #[arg(long, value_name = "P")]
    pub policy: Option<PolicyKind>,
    /// Seed of what is drawn at random
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// Repeat with the next seeds and report median and spread
    #[arg(long, default_value_t = 1, value_name = "R", value_parser = at_least_one)]
    pub repeat: usize,
    /// Write the best matrix to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Neither read nor write cached results
    #[arg(long)]
    pub no_cache: bool,
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    /// The matrix to run (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Samples in each run
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = at_least_one)]
    pub samples: usize,
    /// Runs; the median is reported
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
    pub format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlanArgs {
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
    /// The batching policy of simulations, as for `allocate` (default: the manifest's)
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
    pub format: OutputFormat,
}
