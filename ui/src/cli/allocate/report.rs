//! The report of a search, as text and as JSON.

use divisi_engine::search::{Algorithm, Comparison, EntryLatency, LoadedLatency};
use divisi_model::metrics::stats;
use divisi_runtime::compute::gpu::Precision;
use serde::Serialize;

use super::partitions::{self, PartitioningTried};
use super::precisions::PrecisionsChosen;
use crate::cli::output::DeviceRow;
use crate::cli::predicted::PredictedRow;
use crate::cli::reporting::Report;
use crate::cli::tables::{MatrixReport, lines, matrix_table};

#[derive(Serialize)]
pub(crate) struct SearchReport {
    pub ensemble: String,
    /// The traffic shares of several models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    pub algorithm: &'static str,
    pub evaluator: &'static str,
    pub policy: String,
    /// The goal of the search; `shortfall` is the unmet part of it.
    pub goal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<String>,
    pub devices: Vec<DeviceRow>,
    /// The precision of the GPUs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    #[serde(flatten)]
    pub placed: MatrixReport,
    pub score: f64,
    /// Relative standard error of the score: 0 if it is exact, null if it is predicted or comes
    /// from one run.
    pub score_error: Option<f64>,
    pub start_score: f64,
    pub start_error: Option<f64>,
    /// The certainty of both scores: `exact`, `predicted`, `one run`, `± 0.8 %`.
    pub score_doubt: String,
    pub start_doubt: String,
    /// The comparison of the best matrix with the start; both ran alternately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Comparison>,
    /// The predicted throughput of a short run, with its interval.
    #[serde(flatten)]
    pub predicted: Option<PredictedRow>,
    /// The long-run throughput: simulated if all devices are simulated, else by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<f64>,
    /// Relative standard error of `steady`; null if it is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_error: Option<f64>,
    /// The model's upper bound of the long-run throughput under this policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The share by which `steady` is below the bound, or absent if it exceeds the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// The share by which `steady` exceeds the bound. The assumptions of the bound do not hold
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above_bound: Option<f64>,
    /// Latencies under load, in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<LatencyRow>,
    /// Latencies of real requests to the result on this machine, or absent if they were not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_us: Option<LatencyRow>,
    /// Latencies under load by model, if there are several models.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_by_model: Vec<EntryRow>,
    pub evaluations: usize,
    pub iterations: usize,
    pub coverage: f64,
    pub elapsed_s: f64,
    pub seed: u64,
    /// The number of profiles measured for this search, or 0 if all were cached.
    pub profiled: usize,
    pub simulated: bool,
    pub synthetic: bool,
    pub cached: bool,
    /// The age of the measurements and the load of the host, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occasion: Option<String>,
    pub cancelled: bool,
    #[serde(skip)]
    pub disturbed: bool,
    /// The precisions chosen before the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precisions: Option<PrecisionsChosen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repetitions>,
    /// The results with other partitions of the cores, if they were compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitionings: Vec<PartitioningTried>,
}

/// Latencies under Poisson arrivals, in microseconds.
#[derive(Serialize)]
pub(crate) struct LatencyRow {
    pub rate: f64,
    pub p50: u64,
    pub p99: u64,
}

/// Latencies of a model among others, in microseconds.
#[derive(Serialize)]
pub(crate) struct EntryRow {
    pub model: String,
    pub p50: u64,
    pub p99: u64,
}

impl EntryRow {
    pub(crate) fn from_latency(latency: &EntryLatency) -> Self {
        EntryRow {
            model: latency.name.clone(),
            p50: latency.p50.as_micros() as u64,
            p99: latency.p99.as_micros() as u64,
        }
    }
}

/// The scores of all repetitions.
#[derive(Serialize)]
pub(crate) struct Repetitions {
    pub scores: Vec<f64>,
    pub median: f64,
    /// Relative standard deviation.
    pub spread: f64,
}

/// Below this share of neighbours visited, results vary (the paper, section IV.B).
const LOW_COVERAGE: f64 = 0.2;

impl LatencyRow {
    pub(crate) fn from_latency(latency: LoadedLatency) -> Self {
        LatencyRow {
            rate: latency.rate,
            p50: latency.p50.as_micros() as u64,
            p99: latency.p99.as_micros() as u64,
        }
    }
}

impl Repetitions {
    pub(crate) fn from_scores(scores: Vec<f64>) -> Self {
        Repetitions {
            median: stats::median(&scores),
            spread: stats::rsd(&scores),
            scores,
        }
    }

    fn line(&self, score_error: Option<f64>) -> String {
        let again = match score_error {
            Some(error) if error > 0.0 => ", measured again",
            _ => "",
        };
        format!(
            "best of {} repetitions{again}; their median is {:.0} samples/s, spread {:.1} %",
            self.scores.len(),
            self.median,
            100.0 * self.spread
        )
    }
}

impl Report for SearchReport {
    fn text(&self) -> String {
        let latency = |how: &str, latency: &LatencyRow| {
            let LatencyRow { rate, p50, p99 } = latency;
            format!("at {rate:.0} samples/s, {how}: p50 {p50} µs, p99 {p99} µs")
        };
        let of_models = self.latency_by_model.iter();
        let of_models =
            of_models.map(|row| format!("  {}: p50 {} µs, p99 {} µs", row.model, row.p50, row.p99));
        let of_models: Vec<Option<String>> = of_models.map(Some).collect();
        let (simulated, measured) = (self.latency_us.as_ref(), self.measured_us.as_ref());
        let found = [
            Some(format!("{}\n", matrix_table(self.placed.matrix()))),
            Some(score_line(self)),
            Some(effort_line(self)),
            (self.coverage < LOW_COVERAGE && self.algorithm == Algorithm::Greedy.name()).then(
                || "low neighbour coverage: results vary between seeds (see --repeat)".to_owned(),
            ),
            self.repeat
                .as_ref()
                .map(|repeat| repeat.line(self.score_error)),
            bound_line(self),
            simulated.map(|row| latency("simulated", row)),
            measured.map(|row| latency("measured", row)),
        ];
        let remarks = [
            self.mix.as_ref().map(|mix| format!("traffic: {mix}")),
            (self.profiled > 0).then(|| format!("{} profiles measured", self.profiled)),
            self.simulated.then(|| "simulated devices".to_owned()),
            remark_line(&self.devices),
            self.synthetic.then(|| "synthetic weights".to_owned()),
            self.precisions
                .as_ref()
                .map(|precisions| format!("\n{}", precisions.text())),
            partitions::lines(&self.partitionings),
            self.predicted.as_ref().map(PredictedRow::line),
            occasion_line(self),
        ];
        lines(found.into_iter().chain(of_models).chain(remarks))
    }
}

/// Returns the work of the search.
fn effort_line(report: &SearchReport) -> String {
    format!(
        "{} evaluations in {} iterations, {:.1} s, seed {}, neighbour coverage {:.0} %",
        report.evaluations,
        report.iterations,
        report.elapsed_s,
        report.seed,
        100.0 * report.coverage
    )
}

/// Returns the time of measurements that are reused, or that are too disturbed for that.
fn occasion_line(report: &SearchReport) -> Option<String> {
    let occasion = report.occasion.as_deref().unwrap_or_default();
    match (report.cached, report.disturbed) {
        (true, _) => Some(format!(
            "cached result, {occasion} (--no-cache measures again)"
        )),
        (false, true) => Some(format!("{occasion}: the result is not reused")),
        (false, false) => None,
    }
}

/// Returns the remark on simulated devices with their names, or `None` without a remark.
fn remark_line(devices: &[DeviceRow]) -> Option<String> {
    let remark = devices.iter().find_map(|device| device.remark)?;
    let named = devices.iter().filter(|device| device.remark.is_some());
    let mut names: Vec<&str> = named
        .map(|device| device.name.rsplit_once(':').map_or("", |(name, _)| name))
        .collect();
    names.dedup();
    Some(format!("{}: {remark}", names.join(", ")))
}

/// Returns the score with its certainty, and its gain over worst-fit decreasing.
fn score_line(report: &SearchReport) -> String {
    let score = format!("{:.0} samples/s ({})", report.score, report.score_doubt);
    let start = format!(
        "worst-fit's {:.0} ({})",
        report.start_score, report.start_doubt
    );
    match &report.gain {
        Some(gain) if !gain.is_better() && report.score == report.start_score => format!(
            "{score}: worst-fit's matrix is kept\nbest other matrix: {gain}, not significant"
        ),
        Some(gain) => format!(
            "{score}, {:.2} × {start}\ncompared with worst-fit: {gain}",
            gain.ratio
        ),
        None => {
            let ratio = report.score / report.start_score.max(1e-9);
            format!("{score}, {ratio:.2} × {start}{}", unconfirmed(report))
        }
    }
}

/// Returns a remark for a cancelled search: the best of many noisy scores is biased upwards.
fn unconfirmed(report: &SearchReport) -> &'static str {
    let noisy = !matches!(report.score_error, Some(0.0) | None);
    match report.cancelled && noisy {
        true => "\nnot measured again: the best of many noisy scores is too high",
        false => "",
    }
}

/// Returns the long-run throughput and its bound, if both are known.
fn bound_line(report: &SearchReport) -> Option<String> {
    let (steady, bound) = report.steady.zip(report.bound)?;
    let policy = &report.policy;
    let error = match report.steady_error {
        Some(error) => format!(" (± {:.1} %)", 100.0 * error),
        None => " (predicted)".into(),
    };
    let steady = format!("long run: {steady:.0} samples/s{error}");
    Some(match (report.gap, report.above_bound) {
        (_, Some(above)) => format!(
            "{steady}, {:.1} % above the model's bound of {bound:.0} under {policy}: the bound does not hold",
            100.0 * above
        ),
        (gap, None) => format!(
            "{steady}; the model's bound under {policy} is {bound:.0}: a gap of {:.1} %",
            100.0 * gap.unwrap_or_default()
        ),
    })
}
