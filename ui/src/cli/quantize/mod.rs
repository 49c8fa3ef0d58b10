//! `divisi quantize`: the ranges by which networks are computed in bytes, found from samples and
//! written to files that manifests name.

mod measured;
mod model;
mod outputs;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use divisi_runtime::compute::calibration::{
    CalibrationError, CalibrationOptions, KeptLayers, Percentile, RangeMethod, calibrate,
};
use divisi_runtime::network::Shape;

use super::args::{OutputFormat, SampleFiles, at_least_one, parse_shape};
use super::output::{ProgressLine, print, print_json};
use measured::MeasuredMember;
use model::{QuantizedMember, QuantizedModel, SpreadRows};
use outputs::Outputs;
use report::QuantizeReport;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QuantizeArgs {
    /// An ensemble's folder or manifest, an .onnx file, a built-in ensemble; or, with --weights, a
    /// .toml file of layers
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Samples such as those that will be served, in any form that `divisi predict` reads, of a few
    /// hundred rows; with labels or other targets the measures of both precisions are printed
    /// (default: the manifest's calibration samples)
    #[arg(long = "calibration", value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
    /// How the range of a value is chosen: from its least number to its greatest, without the
    /// outermost numbers, or so that bytes keep most of its distribution
    #[arg(long, value_enum, default_value_t)]
    method: NamedMethod,
    /// The share of numbers in a range, in percent, for --method percentile (default: 99.99)
    #[arg(long, value_name = "P", value_parser = parse_percentile)]
    percentile: Option<Percentile>,
    /// The most samples that are looked at, spread evenly over the file
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = at_least_one)]
    rows: usize,
    /// Layers that stay in float32: auto (the first and the last one with weights, each if it costs
    /// more than a quarter of the error, of few layers more), none, or names split by commas, where
    /// `first` and `last` stand for these
    #[arg(long, default_value = "auto", value_name = "LAYERS")]
    keep: KeptLayers,
    /// The member to calibrate alone (default: all)
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// The file of weights of a .toml file of layers
    #[arg(long, value_name = "FILE", conflicts_with = "member")]
    weights: Option<PathBuf>,
    /// A sample of an .onnx file alone that leaves dimensions open, or of a file of layers:
    /// channels,height,width or features
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    shape: Option<Shape>,
    /// The file to write; of several members the folder of their files (default: NAME.int8.json
    /// beside the model)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// The name of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum NamedMethod {
    #[default]
    MinMax,
    Percentile,
    Entropy,
}

fn parse_percentile(text: &str) -> Result<Percentile, String> {
    let wrong = || format!("expected a percentage above 50 and at most 100, found `{text}`");
    let number = text.parse().map_err(|_| wrong())?;
    Percentile::new(number).map_err(|why| why.to_string())
}

pub(crate) fn run(args: &QuantizeArgs) -> Result<()> {
    let method = method(args)?;
    let model = QuantizedModel::open(args)?;
    model.refuse_quantised()?;
    let outputs = Outputs::of(args, &model)?;
    let samples = model.samples(args)?;
    let options = CalibrationOptions {
        method,
        kept: args.keep.clone(),
    };
    let measured = model.members.iter().map(|member| {
        let rows = SpreadRows::new(&samples, member, args.rows);
        let measured = calibrated(&model, member, &rows, &options);
        measured.with_context(|| format!("member `{}`", member.name))
    });
    // Nothing is written before all of them are calibrated.
    let measured = measured.collect::<Result<Vec<_>>>()?;
    let texts = model.members.iter().zip(&measured);
    let texts = texts.map(|(member, m)| m.calibrated.calibration.to_json(&member.graph));
    outputs.write(&texts.collect::<Vec<_>>())?;
    let members: Vec<_> = measured.into_iter().zip(outputs.names()).collect();
    let rows = args.rows.min(samples.len());
    let report = QuantizeReport::new(&model, method, (&samples, rows), &members);
    match args.format {
        OutputFormat::Json => print_json(&report),
        OutputFormat::Text => print(&report.text()),
    }
}

fn method(args: &QuantizeArgs) -> Result<RangeMethod> {
    Ok(match (args.method, args.percentile) {
        (NamedMethod::Percentile, share) => RangeMethod::Percentile(share.unwrap_or_default()),
        (_, Some(_)) => bail!("--percentile: belongs to `--method percentile`"),
        (NamedMethod::MinMax, None) => RangeMethod::MinMax,
        (NamedMethod::Entropy, None) => RangeMethod::Entropy,
    })
}

/// Calibrates a member and measures what it then answers.
fn calibrated(
    model: &QuantizedModel,
    member: &QuantizedMember,
    rows: &SpreadRows<'_>,
    options: &CalibrationOptions,
) -> Result<MeasuredMember> {
    let mut progress = ProgressLine::new();
    let all = rows.count();
    let read = |range| rows.read(range);
    let of_rows = rows.calibration(&read);
    let network = (member.graph.as_ref(), member.weights.as_ref());
    let found = calibrate(network, of_rows, options, &mut |what, done| {
        progress.say(|| format!("{}: {done} of {all} samples {what}", member.name));
    });
    let found = match found {
        Err(why @ CalibrationError::Kept { .. }) => bail!("--keep: {why}"),
        found => found.map_err(|why| rows.placed(why))?,
    };
    MeasuredMember::of(model, member, rows, found)
}

impl SpreadRows<'_> {
    /// Returns an error with the row of the file in place of that of the samples looked at.
    fn placed(&self, error: CalibrationError) -> CalibrationError {
        match error {
            CalibrationError::Sample { row, at } => CalibrationError::Sample {
                row: self.row(row),
                at,
            },
            CalibrationError::Answer { row, at } => CalibrationError::Answer {
                row: self.row(row),
                at,
            },
            other => other,
        }
    }
}
