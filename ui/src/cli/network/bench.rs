//! `divisi network bench`: the speed, the loading time and the memory of one network.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi_model::ensemble::Samples;
use divisi_model::metrics::stats::median;
use divisi_runtime::device::format_bytes;
use divisi_runtime::device::host::HostWatch;
use divisi_runtime::network::{Graph, Shape};
use divisi_runtime::words::counted;
use serde::Serialize;

use super::chosen::{
    ChosenNetwork, NetworkChoice, NetworkPlace, PlaceChoice, PlaceReport, SYNTHETIC, WeightsChoice,
};
use super::samples::read_samples;
use crate::cli::args::at_least_one;
use crate::cli::measured_host::MeasuredHost;
use crate::cli::reporting::{Report, ReportOptions};
use crate::cli::signals::stop_flag;
use crate::cli::tables::{lines, tensors_in_words};
use crate::cli::times::parse_seconds;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NetworkBenchArgs {
    #[command(flatten)]
    network: NetworkChoice,
    #[command(flatten)]
    weights: WeightsChoice,
    /// Samples per batch
    #[arg(long, default_value_t = 1, value_name = "B", value_parser = at_least_one)]
    batch: usize,
    /// Samples to run (default: generated)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceChoice,
    /// Measuring time, such as 3s
    #[arg(long, default_value = "3s", value_name = "S", value_parser = parse_seconds)]
    duration: Duration,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct NetworkBenchReport {
    network: String,
    input: Shape,
    /// The tensors of a sample in words.
    #[serde(skip)]
    tensors: String,
    batch: usize,
    #[serde(flatten)]
    place: PlaceReport,
    /// A remark if the precision is not the requested one or lacks native instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    synthetic: bool,
    samples_per_s: f64,
    /// The median of the batches.
    ms_per_batch: f64,
    batches: usize,
    /// 10⁹ operations per second, counted as by the direct algorithm, or null if lengths vary.
    gflops: Option<f64>,
    /// The lengths of the batch's samples, if they vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<BatchLengths>,
    /// The time from the weights (file or seed) to the answer to the first sample.
    load_s: f64,
    /// Planned memory of weights and activations.
    planned_bytes: u64,
    /// The peak of resident memory above the value before loading, or null if the system does not
    /// report it.
    peak_bytes: Option<u64>,
    /// The load of the host during the batches, or null if it is not known.
    host: Option<MeasuredHost>,
}

/// The lengths of a batch's samples.
#[derive(Serialize)]
struct BatchLengths {
    least: usize,
    most: usize,
    sum: usize,
}

impl BatchLengths {
    /// Returns the lengths of rows of a network's samples, or `None` if they do not vary.
    fn from_rows(graph: &Graph, rows: &[f32]) -> Option<Self> {
        let lengths = graph.lengths()?;
        let rows = rows.chunks_exact(graph.input().elements().max(1));
        let each: Vec<usize> = rows.filter_map(|row| lengths.row_length(row)).collect();
        Some(BatchLengths {
            least: *each.iter().min()?,
            most: *each.iter().max()?,
            sum: each.iter().sum(),
        })
    }
}

/// The minimum number of measured batches.
const LEAST_BATCHES: usize = 3;

pub(crate) fn run(args: &NetworkBenchArgs) -> Result<()> {
    let stopped = stop_flag();
    let place = NetworkPlace::new(&args.place)?;
    let before = status("VmRSS:");
    let start = Instant::now();
    let mut chosen = ChosenNetwork::new(&args.network)?;
    let samples = samples(args, &chosen.graph)?;
    let rows = samples.rows(0, args.batch);
    let (width, values) = (samples.width(), &rows[..]);
    let lengths = BatchLengths::from_rows(&chosen.graph, values);
    let weights = chosen.weights(&args.weights)?;
    let synthetic = weights.is_synthetic();
    let mut answer = place.runner(&chosen, &weights, args.batch)?;
    drop(weights);
    answer(&values[..width])?;
    let load_s = start.elapsed().as_secs_f64();

    let host = HostWatch::start();
    let times = measure(|| answer(values).map(drop), args.duration, &stopped)?;
    let host = host.end().map(MeasuredHost::from_load);
    let ms_per_batch = 1e3 * median(&times);
    let samples_per_s = 1e3 * args.batch as f64 / ms_per_batch;
    let footprint = place.footprint(&chosen.graph, args.batch);
    args.report.write(&NetworkBenchReport {
        network: chosen.name,
        input: chosen.graph.input(),
        tensors: tensors(&chosen.graph),
        batch: args.batch,
        place: place.report(),
        remark: place.remark(),
        synthetic,
        samples_per_s,
        ms_per_batch,
        batches: times.len(),
        gflops: lengths
            .is_none()
            .then(|| samples_per_s * chosen.graph.flops() as f64 / 1e9),
        lengths,
        load_s,
        planned_bytes: footprint.weight_bytes + footprint.activation_bytes,
        peak_bytes: status("VmHWM:")
            .zip(before)
            .map(|(p, b)| p.saturating_sub(b)),
        host,
    })
}

/// Returns the samples of the file, or generated samples for the network.
fn samples(args: &NetworkBenchArgs, graph: &Graph) -> Result<Samples> {
    match &args.input {
        Some(path) => read_samples(path, graph, false),
        None => Ok(Samples::made_up(graph, args.batch)?),
    }
}

/// Returns the seconds of each batch, after a warm-up batch.
fn measure(
    mut batch: impl FnMut() -> Result<()>,
    duration: Duration,
    stopped: &AtomicBool,
) -> Result<Vec<f64>> {
    batch()?;
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST_BATCHES || start.elapsed() < duration {
        if stopped.load(Ordering::Acquire) {
            bail!("stopped early");
        }
        let before = Instant::now();
        batch()?;
        times.push(before.elapsed().as_secs_f64());
    }
    Ok(times)
}

impl Report for NetworkBenchReport {
    fn text(&self) -> String {
        let place = &self.place;
        let threads = match place.threads {
            _ if place.device != "cpu" => place.device.clone(),
            threads => counted(threads, "thread"),
        };
        let parts = [
            Some(format!(
                "{} · {} · batch {} · {threads} · {} kernels\n",
                self.network, self.tensors, self.batch, place.kernels
            )),
            Some(format!(
                "{:.1} samples/s · {:.2} ms a batch (median of {}){}",
                self.samples_per_s,
                self.ms_per_batch,
                self.batches,
                self.rate()
            )),
            Some(format!(
                "first answer {:.3} s after loading began",
                self.load_s
            )),
            Some(format!(
                "memory: {} planned, {} at the peak",
                format_bytes(self.planned_bytes),
                self.peak_bytes.map_or("unknown".into(), format_bytes)
            )),
            self.host.as_ref().map(MeasuredHost::line),
            self.remark.clone(),
            self.synthetic.then(|| SYNTHETIC.to_owned()),
        ];
        lines(parts)
    }
}

impl NetworkBenchReport {
    /// Returns the tokens or the operations per second.
    fn rate(&self) -> String {
        let Some(lengths) = &self.lengths else {
            return format!(" · {:.1} GFLOP/s", self.gflops.unwrap_or_default());
        };
        let BatchLengths { least, most, sum } = lengths;
        let rate = 1e3 * *sum as f64 / self.ms_per_batch;
        format!("\n{sum} tokens in samples of {least} to {most} · {rate:.0} tokens/s")
    }
}

/// Returns the bytes of a field of `/proc/self/status` (Linux), such as the resident memory `VmRSS:`
/// and its peak `VmHWM:`.
fn status(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}

/// Returns the shape of a sample of one tensor, or the names, types and shapes of several.
fn tensors(graph: &Graph) -> String {
    let inputs = graph.signature().inputs;
    if inputs.len() == 1 && graph.lengths().is_none() {
        return graph.input().to_string();
    }
    tensors_in_words(&inputs)
}
