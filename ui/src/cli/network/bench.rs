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
use serde::Serialize;

use super::chosen::{
    ChosenNetwork, NetworkChoice, NetworkPlace, PlaceChoice, SYNTHETIC, WeightsChoice,
};
use super::samples::read_samples;
use crate::cli::args::at_least_one;
use crate::cli::measured_host::MeasuredHost;
use crate::cli::reporting::ReportOptions;
use crate::cli::signals::stop_flag;
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
    threads: usize,
    device: String,
    kernels: String,
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
    let before = resident_bytes();
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
    tell(
        &args.report,
        &NetworkBenchReport {
            network: chosen.name,
            input: chosen.graph.input(),
            tensors: tensors(&chosen.graph),
            batch: args.batch,
            threads: place.threads(),
            device: place.device().to_owned(),
            kernels: place.kernels(),
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
            peak_bytes: peak_bytes().zip(before).map(|(p, b)| p.saturating_sub(b)),
            host,
        },
    )
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

fn tell(options: &ReportOptions, report: &NetworkBenchReport) -> Result<()> {
    let peak = report.peak_bytes.map_or("unknown".into(), format_bytes);
    let threads = match report.threads {
        _ if report.device != "cpu" => report.device.clone(),
        1 => "1 thread".into(),
        many => format!("{many} threads"),
    };
    let rate = match (&report.lengths, report.gflops) {
        (Some(lengths), _) => format!(
            "\n{} tokens in samples of {} to {} · {:.0} tokens/s",
            lengths.sum,
            lengths.least,
            lengths.most,
            1e3 * lengths.sum as f64 / report.ms_per_batch
        ),
        (None, rate) => format!(" · {:.1} GFLOP/s", rate.unwrap_or_default()),
    };
    let mut text = format!(
        "{} · {} · batch {} · {threads} · {} kernels\n\n{:.1} samples/s · {:.2} ms a batch (median of {}){rate}\nfirst answer {:.3} s after loading began\nmemory: {} planned, {peak} at the peak",
        report.network,
        report.tensors,
        report.batch,
        report.kernels,
        report.samples_per_s,
        report.ms_per_batch,
        report.batches,
        report.load_s,
        format_bytes(report.planned_bytes),
    );
    text.extend(report.host.iter().map(|host| format!("\n{}", host.line())));
    text.extend(report.remark.iter().map(|remark| format!("\n{remark}")));
    if report.synthetic {
        text += &format!("\n{SYNTHETIC}");
    }
    options.write(report, &text)
}

/// Returns the bytes of memory that are resident now.
fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

/// Returns the peak of resident bytes.
fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// Reads a field of `/proc/self/status` (Linux), which is in KiB.
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
    let each = inputs.iter().map(|spec| format!("{} {spec}", spec.name));
    each.collect::<Vec<_>>().join(", ")
}
