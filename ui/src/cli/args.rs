//! Values and groups of options shared by several commands, with their parsers.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use divisi_engine::load::PatternError;
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{ImageLayout, MemberPrecision};
use divisi_runtime::device::parse_bytes;
use divisi_runtime::network::Shape;
use divisi_server::{DeviceChoice, ModelControl, ModelSelection, StartLoad, devices_in};

use tracing::Level;

use crate::look::ColorWhen;

use super::logging::parse_level;

pub(crate) fn parse_start_load(text: &str) -> Result<StartLoad, PatternError> {
    match text {
        "none" => Ok(StartLoad::None),
        "usual" => Ok(StartLoad::Usual),
        text => text.parse().map(StartLoad::Pattern),
    }
}

/// Options that every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "General")]
pub(crate) struct GeneralOptions {
    /// Print results and errors only: no notes, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log on standard error: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "log")]
    pub verbose: u8,
    /// Log level on standard error (default: DIVISI_LOG, else off)
    #[arg(long, value_name = "LEVEL", value_parser = parse_level(), global = true)]
    pub log: Option<Level>,
    /// Colours of the help and of the console
    #[arg(long, value_name = "WHEN", value_enum, global = true, default_value_t)]
    pub color: ColorWhen,
    /// Configuration folder (default: the user's)
    #[arg(long, value_name = "DIR", global = true)]
    pub config: Option<PathBuf>,
}

impl GeneralOptions {
    /// Returns the log level, or `None` if no option sets it.
    pub(crate) fn log_detail(&self) -> Option<Level> {
        match self.verbose {
            0 => self.log,
            1 => Some(Level::INFO),
            2 => Some(Level::DEBUG),
            _ => Some(Level::TRACE),
        }
    }
}

/// The ensemble to serve, and the devices to serve it on.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Ensemble and devices")]
pub(crate) struct ServingTarget {
    /// Ensemble folder or manifest, .onnx file, Triton repository, or a built-in ensemble: digits,
    /// digits-onnx, digits-cascade, snippets, drawings, imn1, imn4, imn12, fos14, cif36
    #[arg(default_value = "digits", value_name = "ENSEMBLE", help_heading = None)]
    pub ensemble: PathBuf,
    /// Sample shape of an .onnx file with open dimensions: channels,height,width or features
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub shape: Option<Shape>,
    /// Devices, comma-separated: cpu:0, cpu:0-1, cuda:0, cuda (all GPUs), sim:v100*16,
    /// sim:my_gpu.toml (default: the manifest's, else all GPUs and up to 8 partitions of the
    /// cores, larger ones on a busy host)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// Precision of members: f32, tf32, bf16 or f16 on GPUs, bf16 or int8 on CPUs, or auto (native
    /// to each device) (default: the manifest's, else f32)
    #[arg(long, value_name = "NAME", value_parser = parse_precision())]
    pub precision: Option<MemberPrecision>,
    /// Host memory limit for serving, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
}

impl ServingTarget {
    /// Returns the target on the devices of a matrix file, unless devices are named. Without such
    /// devices the target stays the same, and reading the matrix reports the reason.
    pub(crate) fn for_matrix(&self, matrix: Option<&Path>) -> Self {
        let mut target = self.clone();
        if target.devices.is_empty() {
            target.devices = matrix.and_then(devices_in).unwrap_or_default();
        }
        target
    }

    /// Returns the devices.
    pub(crate) fn device_choice(&self) -> DeviceChoice {
        DeviceChoice {
            names: self.devices.clone(),
            memory: self.memory,
        }
    }

    /// Returns the selection of this model and of further models.
    pub(crate) fn selection(
        &self,
        more: &[PathBuf],
        control: Option<ModelControl>,
    ) -> ModelSelection {
        ModelSelection {
            first: self.ensemble.clone(),
            shape: self.shape,
            more: more.to_vec(),
            control,
            precision: self.precision,
            devices: self.device_choice(),
        }
    }
}

/// Further models after the first, and the traffic share of each.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Several models")]
pub(crate) struct MoreModels {
    /// Further ensembles and .onnx files to serve (not with a repository)
    #[arg(value_name = "MORE", help_heading = None)]
    pub more: Vec<PathBuf>,
    /// Traffic share per model, for the built-in load and searches: digits=3,imn4=1 (default: load
    /// on the first model only)
    #[arg(long, value_name = "SHARES")]
    pub mix: Option<NamedMix>,
}

/// Parses a size of memory, which may be 0.
pub(crate) fn parse_spare(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text[..text.len() - unit.len()].parse::<f64>();
    if number == Ok(0.0) && parse_bytes(&format!("1{unit}")).is_ok() {
        return Ok(0);
    }
    parse_bytes(text).map_err(|e| e.to_string())
}

/// Parses a rate.
pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    parse_within(text, &(1e-3..=1e7), "samples a second, 0.001 to 10000000")
}

/// Parses a price per hour.
pub(crate) fn parse_price(text: &str) -> Result<f64, String> {
    parse_within(text.trim(), &(0.0..=1e6), "a price per hour, 0 to 1000000")
}

/// Parses a count.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    const MOST: usize = 1 << 30;
    parse_within(
        text,
        &(1..=MOST),
        &format!("a whole number from 1 to {MOST}"),
    )
}

/// Parses a number in a range; `expected` describes it.
pub(crate) fn parse_within<T: FromStr + PartialOrd>(
    text: &str,
    range: &RangeInclusive<T>,
    expected: &str,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|n| range.contains(n));
    number.ok_or_else(|| format!("expected {expected}, found `{text}`"))
}

/// Parses a shape: `3,224,224` or `64`.
pub(crate) fn parse_shape(text: &str) -> Result<Shape, String> {
    let dims: Option<Vec<usize>> = text.split(',').map(|d| d.trim().parse().ok()).collect();
    let dims = dims.ok_or_else(|| {
        format!("expected channels,height,width or features, as whole numbers, found `{text}`")
    })?;
    Shape::try_from(dims).map_err(|e| e.to_string())
}

/// Parses a precision, with its names for completions.
pub(crate) fn parse_precision() -> impl TypedValueParser<Value = MemberPrecision> {
    let names = PossibleValuesParser::new(MemberPrecision::names());
    names.try_map(|name| name.parse::<MemberPrecision>())
}

/// The options of a file of samples.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Samples")]
pub(crate) struct SampleFiles {
    /// Labels or other targets, if not in the samples' file: .npy, .npz, .json, or .csv with a
    /// column `label`
    #[arg(
        long,
        value_name = "FILE",
        requires = "input",
        visible_alias = "targets"
    )]
    pub labels: Option<PathBuf>,
    /// Layout of images in the file: nchw or nhwc (default: the manifest's)
    #[arg(long, value_name = "NAME", requires = "input")]
    pub layout: Option<ImageLayout>,
}
