//! Histograms of times: with fixed buckets, as in Prometheus' text format, and with exponential
//! ones, as in its native histograms.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_runtime::lock::Leaf;

/// The upper bounds of the fixed buckets in seconds: three for each power of ten, as is usual.
pub(super) const BOUNDS: [f64; 18] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0, 60.0,
];

/// The resolution of exponential buckets: 2 to this power for each doubling.
pub(super) const SCHEMA: i32 = 3;

/// Times up to this one in seconds are in the zero bucket.
pub(super) const ZERO: f64 = 1.0 / (1 << 20) as f64;

/// The last exponential bucket, whose upper bound is about an hour. It also has longer times.
const LAST: i32 = 12 << SCHEMA;

/// The times in a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistogramReading {
    /// The number of times.
    pub count: u64,
    /// Their sum in seconds.
    pub sum: f64,
    /// The number of times in each fixed bucket; longer ones are in none.
    pub fixed: [u64; BOUNDS.len()],
    /// The number of times in the zero bucket.
    pub zero: u64,
    /// The number of times in each exponential bucket. Bucket `n` ends at 2^(n / 2^[`SCHEMA`])
    /// seconds.
    pub exponential: BTreeMap<i32, u64>,
}

impl HistogramReading {
    fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum += seconds;
        let at = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.fixed.get_mut(at) {
            *count += 1;
        }
        match bucket(seconds) {
            None => self.zero += 1,
            Some(number) => *self.exponential.entry(number).or_default() += 1,
        }
    }

    /// Returns each fixed bucket's upper bound in seconds and the number of times up to it.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        BOUNDS
            .into_iter()
            .zip(self.fixed)
            .map(move |(bound, count)| {
                below += count;
                (bound, below)
            })
    }
}

/// Returns the exponential bucket of a time, or `None` for the zero bucket.
fn bucket(seconds: f64) -> Option<i32> {
    let per_doubling = f64::from(1 << SCHEMA);
    (seconds > ZERO).then(|| ((seconds.log2() * per_doubling).ceil() as i32).min(LAST))
}

/// A histogram for use by several threads.
#[derive(Debug, Default)]
pub(super) struct Histogram(Leaf<HistogramReading>);

impl Histogram {
    /// Adds a time.
    pub(super) fn add(&self, time: Duration) {
        self.0.lock().add(time.as_secs_f64());
    }

    /// Returns the times so far.
    pub(super) fn read(&self) -> HistogramReading {
        self.0.lock().clone()
    }
}

#[cfg(test)]
#[path = "../../../tests/door/units/metrics/histogram.rs"]
mod tests;
