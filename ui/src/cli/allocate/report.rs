//! What `divisi allocate` says.

use divisi::allocation::Matrix;
use divisi::metrics::stats;
use divisi::search::{Algorithm, LoadedLatency};
use serde::Serialize;

use crate::cli::report::{DeviceRow, matrix_table};

/// A search's result.
#[derive(Serialize)]
pub struct Report {
    pub ensemble: String,
    pub algorithm: &'static str,
    pub evaluator: &'static str,
    /// What the search was for, and what of it could not be had.
    pub goal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<String>,
    pub devices: Vec<DeviceRow>,
    pub members: Vec<String>,
    pub matrix: Vec<Vec<usize>>,
    pub score: f64,
    /// Relative standard error of the score.
    pub score_error: f64,
    pub start_score: f64,
    /// By the model: samples a second of this matrix, and what no matrix exceeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// How much more any matrix can give at most, relative to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// Under load, in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<LatencyRow>,
    pub evaluations: usize,
    pub iterations: usize,
    pub coverage: f64,
    pub elapsed_s: f64,
    pub seed: u64,
    /// Members profiled for this search; 0 where all were known.
    pub profiled: usize,
    pub simulated: bool,
    pub synthetic: bool,
    pub cached: bool,
    pub cancelled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

/// Latencies under Poisson arrivals, in microseconds.
#[derive(Serialize)]
pub struct LatencyRow {
    pub rate: f64,
    pub p50: u64,
    pub p99: u64,
}

/// Scores of all repetitions.
#[derive(Serialize)]
pub struct Repeat {
    pub scores: Vec<f64>,
    pub median: f64,
    /// Relative standard deviation.
    pub spread: f64,
}

/// Below this share of neighbours visited, results vary (the paper, section IV.B).
const LOW_COVERAGE: f64 = 0.2;

impl LatencyRow {
    pub fn of(latency: LoadedLatency) -> Self {
        LatencyRow {
            rate: latency.rate,
            p50: latency.p50.as_micros() as u64,
            p99: latency.p99.as_micros() as u64,
        }
    }
}

impl Repeat {
    pub fn of(scores: Vec<f64>) -> Self {
        Repeat {
            median: stats::median(&scores),
            spread: stats::rsd(&scores),
            scores,
        }
    }
}

/// The report as a person reads it.
pub fn text(report: &Report, matrix: &Matrix) -> String {
    let gain = report.score / report.start_score.max(1e-9);
    let mut text = format!(
        "{}\n\n{:.0} samples/s, {gain:.2} × worst-fit's {:.0}\n{} evaluations in {} iterations, {:.1} s, seed {}, neighbours covered {:.0} %",
        matrix_table(matrix),
        report.score,
        report.start_score,
        report.evaluations,
        report.iterations,
        report.elapsed_s,
        report.seed,
        100.0 * report.coverage
    );
    if report.coverage < LOW_COVERAGE && report.algorithm == Algorithm::Greedy.name() {
        text += "\nso few neighbours are covered that results vary: --repeat shows how much";
    }
    if let Some(repeat) = &report.repeat {
        text += &format!(
            "\n{} repetitions: median {:.0} samples/s, spread {:.1} %",
            repeat.scores.len(),
            repeat.median,
            100.0 * repeat.spread
        );
    }
    if let (Some(bound), Some(gap)) = (report.bound, report.gap) {
        text += &format!(
            "\nno matrix gives more than {bound:.0} samples/s by the model: this one is at most {:.1} % from the best possible",
            100.0 * gap / (1.0 + gap)
        );
    }
    if let Some(latency) = &report.latency_us {
        text += &format!(
            "\nunder {:.0} samples/s, simulated: p50 {} µs, p99 {} µs",
            latency.rate, latency.p50, latency.p99
        );
    }
    if report.profiled > 0 {
        text += &format!("\n{} profiles measured and kept", report.profiled);
    }
    if report.simulated {
        text += "\nsimulated devices";
    }
    if report.synthetic {
        text += "\nsynthetic weights";
    }
    if report.cached {
        text += "\nfrom the cache (--no-cache measures again)";
    }
    text
}
