//! The report of a benchmark.

use divisi_engine::load::LoadPattern;
use divisi_engine::search::Doubt;
use divisi_model::allocation::Matrix;
use divisi_model::metrics::{LatencySummary, SplitMeans, stats};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::words::counted;
use serde::Serialize;

use super::BenchArgs;
use crate::cli::measured_host::MeasuredHost;
use crate::cli::open::OpenedEnsemble;
use crate::cli::output::{DeviceRow, FlawedMember, device_rows, flawed_lines};
use crate::cli::predicted::PredictedRow;
use crate::cli::reporting::Report;
use crate::cli::tables::{MatrixReport, lines, matrix_table, stages};

/// The result of a benchmark, in the form of the JSON report.
#[derive(Serialize)]
pub(crate) struct BenchReport {
    ensemble: String,
    /// The traffic shares of several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    mix: Option<String>,
    /// The samples sent in a run; `answered` of them were answered.
    samples: usize,
    answered: usize,
    pub runs: usize,
    elapsed_s: f64,
    samples_per_s: f64,
    rsd: f64,
    /// Relative standard error of the median of the runs: 0 in virtual time, null for one run.
    error: Option<f64>,
    /// The prediction before the runs, if all samples were sent at once and profiles are kept.
    #[serde(flatten)]
    predicted: Option<PredictedRow>,
    latency_us: LatencySummary,
    /// The event from which latencies are measured.
    latency_counts: &'static str,
    /// The mean time of a request in each stage, in microseconds.
    latency_split_us: SplitMeans,
    workers: usize,
    refused: u64,
    dropped: u64,
    /// The load of the host during the runs, or null in virtual time and if it is not known.
    host: Option<MeasuredHost>,
    /// Members with flawed answers.
    pub flawed: Vec<FlawedMember>,
    devices: Vec<DeviceRow>,
    /// The precision of the GPUs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
    #[serde(flatten)]
    placed: MatrixReport,
    policy: String,
    segment: usize,
    load: String,
    seed: u64,
    /// Whether any device is simulated.
    simulated: bool,
    virtual_time: bool,
    fake: bool,
    synthetic: bool,
}

/// The event from which latencies are measured if all samples are sent at once.
const SENDING: &str = "from each sending";

/// The measurements of a benchmark.
#[derive(Default)]
pub(crate) struct BenchFigures {
    /// The answered samples and the seconds of each run.
    pub runs: Vec<(usize, f64)>,
    pub latency: LatencySummary,
    pub split: SplitMeans,
    pub refused: u64,
    pub dropped: u64,
    pub flawed: Vec<FlawedMember>,
    pub in_virtual_time: bool,
    pub host: Option<MeasuredHost>,
    pub predicted: Option<PredictedRow>,
}

impl BenchReport {
    /// Returns the report of the figures.
    pub(crate) fn new(
        args: &BenchArgs,
        opened: &OpenedEnsemble,
        matrix: &Matrix,
        figures: BenchFigures,
    ) -> Self {
        let rate = |(samples, seconds): &(usize, f64)| *samples as f64 / seconds.max(1e-9);
        let rates: Vec<f64> = figures.runs.iter().map(rate).collect();
        let seconds: Vec<f64> = figures.runs.iter().map(|(_, s)| *s).collect();
        let answered: Vec<f64> = figures.runs.iter().map(|(n, _)| *n as f64).collect();
        let load = args.load.as_ref().map(|p| p.to_string());
        BenchReport {
            ensemble: opened.ensemble.name.clone(),
            mix: opened.mix(),
            samples: args.samples,
            answered: stats::median(&answered) as usize,
            runs: rates.len(),
            elapsed_s: stats::median(&seconds),
            samples_per_s: stats::median(&rates),
            rsd: stats::rsd(&rates),
            error: match figures.in_virtual_time {
                true => Some(0.0),
                false => Doubt::of_runs(&rates).error(),
            },
            predicted: figures.predicted,
            latency_us: figures.latency,
            latency_counts: args
                .load
                .as_ref()
                .map_or(SENDING, LoadPattern::measured_from),
            latency_split_us: figures.split,
            workers: matrix.workers().count(),
            refused: figures.refused,
            dropped: figures.dropped,
            host: figures.host,
            flawed: figures.flawed,
            devices: device_rows(&opened.devices),
            precision: opened.precision(),
            placed: MatrixReport::new(matrix),
            policy: opened.ensemble.policy.to_string(),
            segment: opened.ensemble.segment_size,
            load: load.unwrap_or_else(|| "all at once".into()),
            seed: args.seed,
            simulated: opened.devices.is_simulated(),
            virtual_time: figures.in_virtual_time,
            fake: args.fake,
            synthetic: opened.ensemble.is_synthetic(),
        }
    }
}

impl Report for BenchReport {
    fn text(&self) -> String {
        let l = &self.latency_us;
        let parts = [
            Some(format!("{}\n", matrix_table(self.placed.matrix()))),
            Some(format!(
                "{:.0} samples/s ({})",
                self.samples_per_s,
                self.measured()
            )),
            Some(format!(
                "latency p50 {} µs, p90 {} µs, p99 {} µs, max {} µs, {}",
                l.p50, l.p90, l.p99, l.max, self.latency_counts
            )),
            Some(split_line(&self.latency_split_us)),
            Some(format!(
                "policy {}, load {}, {}",
                self.policy,
                self.load,
                counted(self.workers, "worker")
            )),
            self.predicted.as_ref().map(PredictedRow::line),
            self.mix.as_ref().map(|mix| format!("traffic: {mix}")),
            (self.refused + self.dropped > 0).then(|| {
                format!(
                    "{} requests refused, {} dropped",
                    self.refused, self.dropped
                )
            }),
            self.host.as_ref().map(MeasuredHost::line),
            self.fake
                .then(|| "fake networks: the combination was checked".into()),
            self.precision
                .map(|precision| format!("GPUs compute in {precision}")),
            self.synthetic.then(|| "synthetic weights".into()),
            self.simulated
                .then(|| "simulated devices: the figures follow from their profiles".into()),
        ];
        lines(parts) + &flawed_lines(&self.flawed)
    }
}

impl BenchReport {
    /// Returns the extent and the certainty of the measurement in words.
    fn measured(&self) -> String {
        match self.virtual_time {
            true => format!("exact: {} samples in virtual time", self.answered),
            false => format!(
                "{}, median of {} runs of {}, spread {:.1} %",
                error_in_words(self.error),
                self.runs,
                self.samples,
                100.0 * self.rsd
            ),
        }
    }
}

fn error_in_words(error: Option<f64>) -> String {
    match error {
        Some(error) => format!("± {:.1} %", 100.0 * error),
        None => "error unknown".into(),
    }
}

fn split_line(split: &SplitMeans) -> String {
    let stages = stages(split).map(|(name, micros)| format!("{name} {micros:.0} µs"));
    format!("mean latency by stage: {}", stages.join(", "))
}
