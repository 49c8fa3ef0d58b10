//! Repetitions of a figure with other arrivals, and the spread of its numbers.

use std::fmt;
use std::thread;
use std::time::Duration;

use divisi_modelless::fleet::{FleetRecord, QueryRecord};

/// The seeds of arrivals.
pub const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// The mean and the standard deviation of a number over the seeds.
#[derive(Clone, Copy)]
pub struct Spread {
    mean: f64,
    deviation: f64,
}

/// Returns what each seed makes, in the order of seeds. Seeds run in parallel.
pub fn each<T: Send>(made: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let made = &made;
    thread::scope(|scope| {
        let threads = SEEDS.map(|seed| scope.spawn(move || made(seed)));
        let results = threads.into_iter();
        results.map(|t| t.join().expect("no panic")).collect()
    })
}

impl Spread {
    /// Returns the spread of a number of each seed's result.
    pub fn over<T>(results: &[T], number: impl Fn(&T) -> f64) -> Self {
        Self::of(results.iter().map(number))
    }

    /// Returns the spread of numbers.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares = numbers.iter().map(|n| (n - mean).powi(2));
        let deviation = (squares.sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
        Spread { mean, deviation }
    }

    /// Returns the spread of the ratios of a number to that of another result of the same seed.
    pub fn ratio<T>(results: &[T], base: &[T], number: impl Fn(&T) -> f64) -> Self {
        let pairs = results.iter().zip(base);
        Self::of(pairs.map(|(result, base)| number(result) / number(base)))
    }
}

/// `mean ± deviation`, with the decimals of the format; `–` without numbers.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        match self.mean.is_nan() {
            true => f.write_str("–"),
            false => write!(
                f,
                "{:.decimals$} ± {:.decimals$}",
                self.mean, self.deviation
            ),
        }
    }
}

/// Returns a latency in milliseconds, 0 without answers.
pub fn millis(latency: Option<Duration>) -> f64 {
    latency.map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
}

/// Returns the number of queries answered by `end`.
pub fn answered_by(record: &FleetRecord, end: Duration) -> usize {
    let answers = record.queries.iter();
    let answers = answers.filter_map(|q| q.answer.map(|(_, took)| q.arrived + took));
    answers.filter(|at| *at <= end).count()
}

/// Returns a quantile of the latencies of the queries selected by `of`, or `None` without any.
pub fn latency(
    record: &FleetRecord,
    part: f64,
    of: impl Fn(&QueryRecord) -> bool,
) -> Option<Duration> {
    let taken = record.queries.iter().filter(|q| of(q));
    let mut all: Vec<Duration> = taken
        .filter_map(|q| q.answer.map(|(_, took)| took))
        .collect();
    all.sort_unstable();
    let last = all.len().checked_sub(1)?;
    all.get((part * last as f64).round() as usize).copied()
}
