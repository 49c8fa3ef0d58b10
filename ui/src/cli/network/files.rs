//! `divisi network run` and `divisi network weights`: logits for the samples of a file, and
//! synthetic weights as a file that other programs load.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use divisi::ensemble::samples::to_npy;
use divisi::network::{Shape, Weights};
use serde::Serialize;

use super::chosen::{
    ChosenNetwork, NetworkChoice, NetworkPlace, PlaceChoice, SYNTHETIC, WeightsChoice,
};
use super::tensors::{self, Requests};
use crate::cli::args::{OutputFormat, at_least_one};
use crate::cli::output::{OutputFile, print, print_json};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkRunArgs {
    #[command(flatten)]
    network: NetworkChoice,
    #[command(flatten)]
    weights: WeightsChoice,
    /// Samples, as they are: [n, channels, height, width] or [n, features] in an .npy, or
    /// whatever else `divisi predict` reads; or, for an output in .json, named tensors in
    /// .json: {"inputs": [{"name", "datatype", "shape", "data"}, …]}; or, in .jsonl, one such
    /// object a line
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Where logits go: [n, classes] as float32 in .npy; or named tensors in .json or .jsonl,
    /// as the input is
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Samples that are run at once at most
    #[arg(long, default_value_t = 8, value_name = "B", value_parser = at_least_one)]
    batch: usize,
    #[command(flatten)]
    place: PlaceChoice,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkWeightsArgs {
    #[command(flatten)]
    network: NetworkChoice,
    /// Seed of synthetic weights
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Serialize)]
struct LogitsReport {
    network: String,
    samples: usize,
    classes: usize,
    batch: usize,
    threads: usize,
    device: String,
    kernels: String,
    elapsed_s: f64,
    synthetic: bool,
    output: String,
}

pub(crate) fn logits(args: &NetworkRunArgs) -> Result<()> {
    let output = OutputFile::at(&args.output)?;
    let chosen = ChosenNetwork::new(&args.network)?;
    if tensors::is_named(&args.output) {
        return named(args, &chosen, &output);
    }
    let samples = tensors::samples(&args.input, &chosen.graph)?;
    let Shape::Vector { features: classes } = chosen.graph.output() else {
        let found = chosen.graph.output();
        bail!(
            "{}: expected a network that answers a row of logits, found {found}",
            chosen.name
        );
    };
    let weights = chosen.weights(&args.weights)?;
    let place = NetworkPlace::new(&args.place)?;
    let batch = args.batch.min(samples.len());
    let mut answer = place.runner(&chosen, &weights, batch)?;
    let start = Instant::now();
    let mut logits = Vec::with_capacity(samples.len() * classes);
    for first in (0..samples.len()).step_by(batch) {
        let piece = samples.rows(first, batch.min(samples.len() - first));
        logits.extend(answer(&piece)?);
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    output.write_bytes(&to_npy(logits.into_iter(), &[samples.len(), classes]))?;
    tell_logits(
        args.format,
        &LogitsReport {
            network: chosen.name,
            samples: samples.len(),
            classes,
            batch,
            threads: place.threads(),
            device: place.device().to_owned(),
            kernels: place.kernels(),
            elapsed_s,
            synthetic: weights.is_synthetic(),
            output: args.output.display().to_string(),
        },
    )
}

/// Runs the samples of a file of named tensors.
fn named(args: &NetworkRunArgs, chosen: &ChosenNetwork, output: &OutputFile) -> Result<()> {
    if args.input.extension() != args.output.extension() {
        bail!("--input: expected a .json or .jsonl file of named tensors, as the output is one");
    }
    let requests = Requests::read(&args.input, &chosen.graph)?;
    let samples = requests.samples();
    let weights = chosen.weights(&args.weights)?;
    let place = NetworkPlace::new(&args.place)?;
    let batch = args.batch.min(samples);
    let mut run = place.runner(chosen, &weights, batch)?;
    let (text, elapsed_s) = requests.answers(&chosen.graph, &mut run, batch)?;
    output.write_bytes(text.as_bytes())?;
    tell_logits(
        args.format,
        &LogitsReport {
            network: chosen.name.clone(),
            samples,
            classes: chosen.graph.output().elements(),
            batch,
            threads: place.threads(),
            device: place.device().to_owned(),
            kernels: place.kernels(),
            elapsed_s,
            synthetic: weights.is_synthetic(),
            output: args.output.display().to_string(),
        },
    )
}

fn tell_logits(format: OutputFormat, report: &LogitsReport) -> Result<()> {
    if format == OutputFormat::Json {
        return print_json(report);
    }
    let mut text = format!(
        "{} samples in {:.2} s, logits in {}",
        report.samples, report.elapsed_s, report.output
    );
    if report.synthetic {
        text += &format!("\n{SYNTHETIC}: answers mean nothing");
    }
    print(&text)
}

#[derive(Serialize)]
struct WeightsReport {
    network: String,
    tensors: usize,
    weight_bytes: u64,
    seed: u64,
    synthetic: bool,
    output: String,
}

pub(crate) fn weights(args: &NetworkWeightsArgs) -> Result<()> {
    OutputFile::at(&args.output)?;
    let chosen = ChosenNetwork::new(&args.network)?;
    let weights = Weights::synthetic(&chosen.graph, args.seed);
    let file = args.output.display().to_string();
    let written = weights.write(&chosen.graph, &args.output);
    written.with_context(|| file.clone())?;
    tell_weights(
        args.format,
        &WeightsReport {
            network: chosen.name,
            tensors: chosen.graph.parameters().len(),
            weight_bytes: chosen.graph.weight_bytes(),
            seed: args.seed,
            synthetic: weights.is_synthetic(),
            output: file,
        },
    )
}

fn tell_weights(format: OutputFormat, report: &WeightsReport) -> Result<()> {
    match format {
        OutputFormat::Json => print_json(report),
        OutputFormat::Text => print(&format!(
            "{SYNTHETIC} of {} from seed {}: {} tensors, {:.1} MB in {}",
            report.network,
            report.seed,
            report.tensors,
            report.weight_bytes as f64 / 1e6,
            report.output
        )),
    }
}
