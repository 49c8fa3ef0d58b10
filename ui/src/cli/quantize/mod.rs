//! `divisi quantize`: calibrates networks for int8 from samples, and writes files for manifests.

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

use super::args::{SampleFiles, at_least_one, parse_shape};
use super::output::ProgressLine;
use crate::cli::reporting::ProductOptions;
use measured::measure;
use model::{QuantizedMember, QuantizedModel, SpreadRows};
use outputs::Outputs;
use report::{QuantizeReport, QuantizedRow};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct QuantizeArgs {
    /// Ensemble folder or manifest, .onnx file, built-in ensemble, or with --weights a .toml file
    /// of layers
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// A few hundred typical samples, in any format of `divisi predict` (default: the manifest's
    /// calibration samples)
    #[arg(long = "calibration", value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
    /// How to choose a value's range: its extremes, without outliers, or by its distribution
    #[arg(long, value_enum, default_value_t)]
    method: NamedMethod,
    /// Percentage of numbers within a range, for --method percentile (default: 99.99)
    #[arg(long, value_name = "P", value_parser = parse_percentile)]
    percentile: Option<Percentile>,
    /// Most samples to read, spread evenly over the file
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = at_least_one)]
    rows: usize,
    /// Layers to keep in float32: auto, none, or names split by commas, also `first` and `last`
    #[arg(long, default_value = "auto", value_name = "LAYERS")]
    keep: KeptLayers,
    /// Member to calibrate (default: all)
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Weights for a .toml file of layers
    #[arg(long, value_name = "FILE", conflicts_with = "member")]
    weights: Option<PathBuf>,
    /// Sample shape of a .toml file of layers, or of an .onnx file with open dimensions:
    /// channels,height,width or features
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    shape: Option<Shape>,
    /// File to write, or folder for several members (default: NAME.int8.json next to the model)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    product: ProductOptions,
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
    let outputs = Outputs::for_model(args, &model)?;
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
    // Files are written only after all members are calibrated.
    let measured = measured.collect::<Result<Vec<_>>>()?;
    let (texts, rows): (Vec<String>, Vec<QuantizedRow>) = measured.into_iter().unzip();
    outputs.write(&texts)?;
    let members = rows.into_iter().zip(outputs.names());
    let members = members.map(|(row, file)| QuantizedRow { file, ..row });
    let rows = args.rows.min(samples.len());
    let report = QuantizeReport::new(&model, method, &samples, rows, members.collect());
    args.product.format.print(&report)
}

fn method(args: &QuantizeArgs) -> Result<RangeMethod> {
    Ok(match (args.method, args.percentile) {
        (NamedMethod::Percentile, share) => RangeMethod::Percentile(share.unwrap_or_default()),
        (_, Some(_)) => bail!("--percentile requires --method percentile"),
        (NamedMethod::MinMax, None) => RangeMethod::MinMax,
        (NamedMethod::Entropy, None) => RangeMethod::Entropy,
    })
}

/// Calibrates a member and measures its answers. Returns the text of its file and its report.
fn calibrated(
    model: &QuantizedModel,
    member: &QuantizedMember,
    rows: &SpreadRows<'_>,
    options: &CalibrationOptions,
) -> Result<(String, QuantizedRow)> {
    let mut progress = ProgressLine::new();
    let all = rows.count();
    let read = |range| rows.read(range);
    let of_rows = rows.calibration(&read);
    let (graph, weights) = (&member.graph, &member.weights);
    let found = calibrate(graph, weights, of_rows, options, &mut |what, done| {
        progress.say(|| format!("{}: {done} of {all} samples {what}", member.name));
    });
    let found = match found {
        Err(why @ CalibrationError::Kept { .. }) => bail!("--keep: {why}"),
        found => found.map_err(|why| rows.placed(why))?,
    };
    let row = measure(model, member, rows, &found)?;
    Ok((found.calibration.to_json(&member.graph), row))
}

impl SpreadRows<'_> {
    /// Returns the error with the row of the file instead of the row of the selected samples.
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
