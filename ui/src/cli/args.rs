//! Values and groups of options that several commands take, with their parsers.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use divisi_engine::load::PatternError;
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{ImageLayout, MemberPrecision};
use divisi_runtime::device::parse_bytes;
use divisi_runtime::network::Shape;
use divisi_server::{DeviceChoice, ModelControl, ModelSelection, StartLoad};

pub(crate) fn parse_start_load(text: &str) -> Result<StartLoad, PatternError> {
    match text {
        "none" => Ok(StartLoad::None),
        "usual" => Ok(StartLoad::Usual),
        text => text.parse().map(StartLoad::Pattern),
    }
}

/// The ensemble to serve, and the devices to serve it on.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServingTarget {
    /// An ensemble's folder or manifest, an .onnx file, a Triton repository (of which predict and
    /// accuracy take one model), or a built-in one: digits, digits-onnx, digits-cascade, snippets,
    /// drawings, imn1, imn4, imn12, fos14, cif36
    #[arg(default_value = "digits", value_name = "ENSEMBLE")]
    pub ensemble: PathBuf,
    /// A sample of an .onnx file alone, where it leaves dimensions open: channels,height,width or
    /// features
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub shape: Option<Shape>,
    /// Devices, split by commas: cpu:0, cpu:0-1, cuda:0, cuda (all GPUs), sim:v100*16,
    /// sim:my_gpu.toml (default: the manifest's, else the GPUs and one partition a core)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// The numbers that members are computed in: f32, tf32, bf16 or f16 on GPUs, bf16 or int8 on
    /// processors; auto: what each device multiplies natively (default: the manifest's, else f32)
    #[arg(long, value_name = "NAME", value_parser = parse_precision())]
    pub precision: Option<MemberPrecision>,
    /// Memory of the host that serving may take at most, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
}

impl ServingTarget {
    /// Returns the devices.
    pub(crate) fn device_choice(&self) -> DeviceChoice {
        DeviceChoice {
            names: self.devices.clone(),
            memory: self.memory,
        }
    }

    /// Returns the selection of this model and of more models.
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

/// More models beside the first, and how much of each is asked.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct MoreModels {
    /// More ensembles and .onnx files, to be served beside the first; a repository is served alone
    #[arg(value_name = "MORE")]
    pub more: Vec<PathBuf>,
    /// Shares of samples in which the built-in load asks the models, and for which a matrix is searched:
    /// digits=3,imn4=1 (default: the load asks the first alone)
    #[arg(long, value_name = "SHARES")]
    pub mix: Option<NamedMix>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    #[default]
    Text,
    Json,
}

pub(crate) fn parse_millis(text: &str) -> Result<Duration, String> {
    let millis = text.parse::<f64>().ok();
    let millis = millis.filter(|ms| (0.001..=3_600_000.0).contains(ms));
    let millis = millis.map(|ms| Duration::from_secs_f64(ms / 1e3));
    millis.ok_or_else(|| format!("expected milliseconds, 0.001 to 3600000, found `{text}`"))
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

pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text
        .parse::<f64>()
        .ok()
        .filter(|r| (1e-3..=1e7).contains(r));
    rate.ok_or_else(|| format!("expected samples a second, 0.001 to 10000000, found `{text}`"))
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
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

pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>();
    let seconds = number.ok().filter(|s| (0.1..=86_400.0).contains(s));
    let seconds = seconds.map(Duration::from_secs_f64);
    seconds.ok_or_else(|| format!("expected seconds, 0.1 to 86400, found `{text}`"))
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
pub(crate) struct SampleFiles {
    /// Labels or other targets of the samples, where their file has none: an .npy, .npz or
    /// .json of whole numbers or class names, or a .csv with a column `label`; for values and
    /// labels a row of numbers a sample in any of these
    #[arg(
        long,
        value_name = "FILE",
        requires = "input",
        visible_alias = "targets"
    )]
    pub labels: Option<PathBuf>,
    /// In which order the file holds images: nchw or nhwc (default: the manifest's)
    #[arg(long, value_name = "NAME", requires = "input")]
    pub layout: Option<ImageLayout>,
}
