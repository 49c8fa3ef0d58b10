//! Latencies from submission to answer.

use std::sync::LazyLock;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A distribution of latencies, to three digits, up to an hour.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
}

/// Longer ones are counted as this.
const MOST_MICROS: u64 = 3_600_000_000;

/// The bounds are constants that the histogram accepts: any test that makes one holds it.
static EMPTY: LazyLock<Histogram<u64>> = LazyLock::new(|| {
    #[allow(clippy::expect_used, reason = "constants, and a test makes one")]
    Histogram::new_with_bounds(1, MOST_MICROS, 3).expect("1 < most, three digits")
});

impl Default for Latency {
    fn default() -> Self {
        Latency::new()
    }
}

/// The percentiles that reports show, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySummary {
    pub count: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// A bar of the histogram: latencies above the bucket before and up to `micros`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    pub micros: u64,
    pub count: u64,
}

impl Latency {
    /// An empty distribution.
    pub fn new() -> Self {
        Latency {
            histogram: EMPTY.clone(),
        }
    }

    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        let micros = latency.as_micros() as u64;
        self.histogram
            .saturating_record(micros.clamp(1, MOST_MICROS));
    }

    /// Its percentiles.
    pub fn summary(&self) -> LatencySummary {
        let at = |q: f64| self.histogram.value_at_quantile(q);
        if self.histogram.is_empty() {
            return LatencySummary::default();
        }
        LatencySummary {
            count: self.histogram.len(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.histogram.max(),
        }
    }

    /// Bars on a logarithmic axis, `per_octave` for each doubling, from the first
    /// to the last that is not empty.
    pub fn buckets(&self, per_octave: u32) -> Vec<Bucket> {
        let mut bars: Vec<Bucket> = Vec::new();
        let step = 2f64.powf(1.0 / f64::from(per_octave.max(1)));
        let mut edge = 1.0f64;
        for value in self.histogram.iter_recorded() {
            let micros = value.value_iterated_to();
            while edge < micros as f64 {
                edge *= step;
                if !bars.is_empty() {
                    bars.push(Bucket {
                        micros: edge as u64,
                        count: 0,
                    });
                }
            }
            let count = value.count_at_value();
            match bars.last_mut() {
                Some(bar) => bar.count += count,
                None => bars.push(Bucket {
                    micros: edge.ceil() as u64,
                    count,
                }),
            }
        }
        bars
    }
}
