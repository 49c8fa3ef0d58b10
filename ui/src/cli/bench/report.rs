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
    pub ensemble: String,
    /// The traffic shares of several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// The samples sent in a run; `answered` of them were answered.
    pub samples: usize,
    pub answered: usize,
    pub runs: usize,
    pub elapsed_s: f64,
    pub samples_per_s: f64,
    pub rsd: f64,
    /// Relative standard error of the median of the runs: 0 in virtual time, null for one run.
    pub error: Option<f64>,
    /// The prediction before the runs, if all samples were sent at once and profiles are kept.
    #[serde(flatten)]
    pub predicted: Option<PredictedRow>,
    pub latency_us: LatencySummary,
    /// The event from which latencies are measured.
    pub latency_counts: &'static str,
    /// The mean time of a request in each stage, in microseconds.
    pub latency_split_us: SplitMeans,
    pub workers: usize,
    pub refused: u64,
    pub dropped: u64,
    /// The load of the host during the runs, or null in virtual time and if it is not known.
    pub host: Option<MeasuredHost>,
    /// Members with flawed answers.
    pub flawed: Vec<FlawedMember>,
    pub devices: Vec<DeviceRow>,
    /// The precision of the GPUs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    #[serde(flatten)]
    pub placed: MatrixReport,
    pub policy: String,
    pub segment: usize,
    pub load: String,
    pub seed: u64,
    /// Whether any device is simulated.
    pub simulated: bool,
    pub virtual_time: bool,
    pub fake: bool,
    pub synthetic: bool,
}

/// The event from which latencies are measured if all samples are sent at once.
const SENDING: &str = "from each sending";

impl BenchReport {
    /// Returns the report of runs with these numbers of answered samples and seconds, without other
    /// measurements.
    pub(crate) fn from_runs(
        args: &BenchArgs,
        opened: &OpenedEnsemble,
        matrix: &Matrix,
        runs: &[(usize, f64)],
    ) -> Self {
        let rate = |(samples, seconds): &(usize, f64)| *samples as f64 / seconds.max(1e-9);
        let rates: Vec<f64> = runs.iter().map(rate).collect();
        let seconds: Vec<f64> = runs.iter().map(|(_, s)| *s).collect();
        let answered: Vec<f64> = runs.iter().map(|(n, _)| *n as f64).collect();
        let load = args.load.as_ref();
        BenchReport {
            ensemble: opened.ensemble.name.clone(),
            mix: opened.mix(),
            samples: args.samples,
            answered: stats::median(&answered) as usize,
            runs: rates.len(),
            elapsed_s: stats::median(&seconds),
            samples_per_s: stats::median(&rates),
            rsd: stats::rsd(&rates),
            error: Doubt::of_runs(&rates).error(),
            predicted: None,
            latency_us: LatencySummary::default(),
            latency_counts: load.map_or(SENDING, LoadPattern::measured_from),
            latency_split_us: SplitMeans::default(),
            workers: matrix.workers().count(),
            refused: 0,
            dropped: 0,
            host: None,
            flawed: Vec::new(),
            devices: device_rows(&opened.devices),
            precision: opened.precision(),
            placed: MatrixReport::new(matrix),
            policy: opened.ensemble.policy.to_string(),
            segment: opened.ensemble.segment_size,
            load: load.map_or_else(|| "all at once".into(), ToString::to_string),
            seed: args.seed,
            simulated: opened.devices.is_simulated(),
            virtual_time: false,
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
        let error = self.error.map(|error| format!("± {:.1} %", 100.0 * error));
        match self.virtual_time {
            true => format!("exact: {} samples in virtual time", self.answered),
            false => format!(
                "{}, median of {} runs of {}, spread {:.1} %",
                error.as_deref().unwrap_or("error unknown"),
                self.runs,
                self.samples,
                100.0 * self.rsd
            ),
        }
    }
}

fn split_line(split: &SplitMeans) -> String {
    let stages = stages(split).map(|(name, micros)| format!("{name} {micros:.0} µs"));
    format!("mean latency by stage: {}", stages.join(", "))
}
