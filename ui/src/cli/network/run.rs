//! `divisi network run`: the answers of one network to the samples of a file.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use divisi_model::ensemble::Samples;
use serde::Serialize;

use super::answers::AnswerFile;
use super::chosen::{
    ChosenNetwork, NetworkChoice, NetworkPlace, NetworkRunner, PlaceChoice, PlaceReport, SYNTHETIC,
    WeightsChoice,
};
use super::samples::read_samples;
use crate::cli::args::at_least_one;
use crate::cli::open::say;
use crate::cli::output::OutputFile;
use crate::cli::reporting::{ProductOptions, Report};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkRunArgs {
    #[command(flatten)]
    network: NetworkChoice,
    #[command(flatten)]
    weights: WeightsChoice,
    /// Samples: .npy of [n, channels, height, width] or [n, features], or any format of `divisi
    /// predict`; named tensors in .json, .jsonl or .npz
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// File for the answers: .npy, .json or .jsonl
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Most samples per batch
    #[arg(long, default_value_t = 8, value_name = "B", value_parser = at_least_one)]
    batch: usize,
    #[command(flatten)]
    place: PlaceChoice,
    #[command(flatten)]
    product: ProductOptions,
}

#[derive(Serialize)]
struct RunReport {
    network: String,
    samples: usize,
    /// The number of values in an answer.
    values: usize,
    batch: usize,
    #[serde(flatten)]
    place: PlaceReport,
    elapsed_s: f64,
    synthetic: bool,
    /// Samples whose answers contain NaN or infinities.
    nonfinite: usize,
    output: String,
}

pub(crate) fn run(args: &NetworkRunArgs) -> Result<()> {
    let output = OutputFile::new(&args.output, args.product.force)?;
    let mut chosen = ChosenNetwork::new(&args.network)?;
    let file = AnswerFile::for_graph(&args.output, &chosen.graph)?;
    let input = AnswerFile::named(&args.input);
    let are_requests = file.is_json() && input.is_some_and(AnswerFile::is_json);
    let samples = read_samples(&args.input, &chosen.graph, are_requests)?;
    let weights = chosen.weights(&args.weights)?;
    let place = NetworkPlace::new(&args.place)?;
    say(place.remark().as_slice());
    let batch = args.batch.min(samples.len());
    let mut runner = place.runner(&chosen, &weights, batch)?;
    let start = Instant::now();
    let rows = answers(&mut runner, &samples, batch)?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let values = chosen.graph.output().elements();
    let nonfinite = rows.chunks(values).filter(|row| !is_finite(row)).count();
    output.write_bytes(&file.bytes(&chosen.graph, &samples, rows)?)?;
    let report = RunReport {
        network: chosen.name,
        samples: samples.len(),
        values,
        batch,
        place: place.report(),
        elapsed_s,
        synthetic: weights.is_synthetic(),
        nonfinite,
        output: args.output.display().to_string(),
    };
    args.product.format.print(&report)?;
    match nonfinite {
        0 => Ok(()),
        n => bail!(
            "{} returned NaN or infinities for {n} of {} samples",
            report.network,
            report.samples
        ),
    }
}

/// Runs all samples, at most `batch` at once.
fn answers(runner: &mut NetworkRunner, samples: &Samples, batch: usize) -> Result<Vec<f32>> {
    let mut rows = Vec::new();
    for first in (0..samples.len()).step_by(batch) {
        let piece = samples.rows(first, batch.min(samples.len() - first));
        rows.extend(runner(&piece)?);
    }
    Ok(rows)
}

fn is_finite(row: &[f32]) -> bool {
    row.iter().all(|value| value.is_finite())
}

impl Report for RunReport {
    fn text(&self) -> String {
        let synthetic = format!("\n{SYNTHETIC}: answers mean nothing");
        format!(
            "{} samples in {:.2} s, answers in {}{}",
            self.samples,
            self.elapsed_s,
            self.output,
            if self.synthetic { &synthetic } else { "" }
        )
    }
}
