//! The arguments of commands around consoles: servers, recordings, pictures, the
//! demonstration.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use divisi::session::remote::ServerName;

use super::values::{ServingTarget, StartLoad, parse_seconds, parse_start_load};
use crate::commands::Key;
use crate::config::time;
use crate::model::DemoStage;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    /// Start with the matrix in this file instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Load to begin with, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "none", value_parser = parse_start_load)]
    pub load: StartLoad,
    /// The server's name (default: the ensemble's name)
    #[arg(long, value_name = "NAME")]
    pub name: Option<ServerName>,
    /// Record all that is shown to a new FILE
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AttachArgs {
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
pub(crate) struct StopArgs {
    /// A server's name, or its socket's path
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplayArgs {
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
pub(crate) struct ReportArgs {
    /// A recording, a server that runs, or an ensemble, which is served for a moment
    #[command(flatten)]
    pub target: ServingTarget,
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
    pub format: Option<SnapshotFormat>,
}

/// The format of a report of what the console shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SnapshotFormat {
    Text,
    Json,
    Csv,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// digits (this machine's devices) or simulated (imn12 on 16 simulated GPUs)
    #[arg(long, value_name = "STAGE", default_value = "digits")]
    pub on: DemoStage,
    /// Go on by itself at the end of each scene, and begin again after the last
    #[arg(long)]
    pub auto: bool,
    /// Leave the mouse to the terminal, to select text
    #[arg(long)]
    pub no_mouse: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PictureArgs {
    #[command(flatten)]
    pub target: ServingTarget,
    /// Start with the matrix in this file instead of worst-fit decreasing
    #[arg(long, value_name = "FILE")]
    pub matrix: Option<PathBuf>,
    /// Load to begin with, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "poisson:200", value_parser = parse_start_load)]
    pub load: StartLoad,
    /// Columns and rows
    #[arg(long, value_name = "WxH", default_value = "160x50")]
    pub size: ScreenSize,
    /// Serve so long before keys are typed
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    pub after: Duration,
    /// Keys to type, split by spaces: keys by their names, and pauses as wait:2s
    #[arg(long, value_name = "KEYS", default_value = "", value_parser = parse_steps)]
    pub keys: KeySteps,
    /// How things look: dark, light, high-contrast or a file in themes/
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Only signs of ASCII
    #[arg(long)]
    pub ascii: bool,
    /// Where to write: .svg, .ans or .txt; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
}

/// Columns and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenSize(pub u16, pub u16);

impl FromStr for ScreenSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('x');
        let parsed = parts.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let right = parsed.filter(|(w, h)| (1..=500).contains(w) && (1..=300).contains(h));
        let wrong = || format!("expected columns x rows, at most 500x300, found `{text}`");
        right.map(|(w, h)| ScreenSize(w, h)).ok_or_else(wrong)
    }
}

/// Keys and pauses in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySteps(pub Vec<KeyStep>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyStep {
    Press(Key),
    Wait(Duration),
}

fn parse_steps(text: &str) -> Result<KeySteps, String> {
    let step = |word: &str| match word.strip_prefix("wait:") {
        Some(pause) => time(pause).map(KeyStep::Wait),
        None => word.parse().map(KeyStep::Press),
    };
    let steps: Result<Vec<KeyStep>, String> = text.split_whitespace().map(step).collect();
    steps.map(KeySteps)
}
