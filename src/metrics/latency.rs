//! The distribution of latencies from submission to answer, to three digits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::log_histogram::ScaledHistogram;

/// A distribution of latencies, to three digits, up to an hour.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    histogram: ScaledHistogram<10>,
}

/// The percentiles that reports show, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// The number of latencies.
    pub count: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest latency.
    pub max: u64,
}

impl LatencySummary {
    /// The quantiles that it holds.
    pub(super) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

    /// Creates a summary of `count` latencies from its quantiles and the longest one.
    pub(super) fn of(count: u64, [p50, p90, p99, p999]: [u64; 4], max: u64) -> Self {
        LatencySummary {
            count,
            p50,
            p90,
            p99,
            p999,
            max,
        }
    }

    /// Whether there are enough requests for the latency below which a share `q` of them
    /// lies: at least one is expected above it (p99 asks for 100, p99.9 for 1 000).
    pub fn is_enough_for(&self, q: f64) -> bool {
        self.count as f64 * (1.0 - q) >= 1.0 - 1e-9
    }
}

/// A bar of a histogram: latencies above `from` and up to `micros`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The lower edge in microseconds, excluded.
    pub from: u64,
    /// The upper edge in microseconds, included.
    pub micros: u64,
    /// The number of latencies.
    pub count: u64,
}

/// All figures of a distribution, from one pass over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyWhole {
    /// The percentiles.
    pub summary: LatencySummary,
    /// The bars that are not empty.
    pub buckets: Vec<Bucket>,
    /// The share of latencies above the limit, if there is a limit.
    pub above: Option<f64>,
}

impl Latency {
    /// Creates an empty distribution.
    pub fn new() -> Self {
        Latency::default()
    }

    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        self.histogram.record(latency.as_micros() as u64, 1);
    }

    /// Returns the percentiles.
    pub fn summary(&self) -> LatencySummary {
        self.whole(1, None).summary
    }

    /// Returns bars on a logarithmic axis, `per_octave` for each doubling, without the
    /// empty ones.
    pub fn buckets(&self, per_octave: u32) -> Vec<Bucket> {
        self.whole(per_octave, None).buckets
    }

    /// Returns percentiles, bars and the share above `limit`, in one pass.
    pub fn whole(&self, per_octave: u32, limit: Option<Duration>) -> LatencyWhole {
        let total = self.histogram.count();
        if total == 0 {
            return LatencyWhole::default();
        }
        let limit = limit.map(|l| l.as_micros() as u64);
        let mut bars = BarBuilder::new(per_octave);
        let (mut seen, mut within, mut longest) = (0, 0, 0);
        let mut found = [0; LatencySummary::QUANTILES.len()];
        for (micros, count) in self.histogram.recorded() {
            bars.add(micros, count);
            seen += count;
            within += if limit.is_some_and(|l| micros <= l) {
                count
            } else {
                0
            };
            for (found, q) in found.iter_mut().zip(LatencySummary::QUANTILES) {
                if *found == 0 && seen as f64 >= q * total as f64 {
                    *found = micros;
                }
            }
            longest = micros;
        }
        LatencyWhole {
            summary: LatencySummary::of(total, found, longest),
            buckets: bars.bars,
            above: limit.map(|_| 1.0 - within as f64 / total as f64),
        }
    }
}

/// Bars under construction.
struct BarBuilder {
    step: f64,
    edge: f64,
    bars: Vec<Bucket>,
}

impl BarBuilder {
    fn new(per_octave: u32) -> Self {
        BarBuilder {
            step: 2f64.powf(1.0 / f64::from(per_octave.max(1))),
            edge: 1.0,
            bars: Vec::new(),
        }
    }

    /// Adds a value; values come in ascending order.
    fn add(&mut self, micros: u64, count: u64) {
        if let Some(bar) = self.bars.last_mut().filter(|bar| micros <= bar.micros) {
            bar.count += count;
            return;
        }
        while self.edge.ceil() < micros as f64 {
            self.edge *= self.step;
        }
        let below = self.bars.last().map_or(0, |bar| bar.micros);
        self.bars.push(Bucket {
            from: below.max((self.edge / self.step).floor() as u64),
            micros: self.edge.ceil() as u64,
            count,
        });
    }
}
