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

impl LatencySummary {
    /// Whether there are enough requests for the latency below which a share `q` of them
    /// lies: one at least is expected above it (p99 asks for 100, p99.9 for 1 000).
    pub fn is_enough_for(&self, q: f64) -> bool {
        self.count as f64 * (1.0 - q) >= 1.0 - 1e-9
    }
}

/// A bar of the histogram: latencies above `from` and up to `micros`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    pub from: u64,
    pub micros: u64,
    pub count: u64,
}

/// All that is shown of a distribution, from one pass over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyWhole {
    pub summary: LatencySummary,
    pub buckets: Vec<Bucket>,
    /// Share that took longer than asked about.
    pub above: Option<f64>,
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

    /// Bars on a logarithmic axis, `per_octave` for each doubling, without the empty
    /// ones.
    pub fn buckets(&self, per_octave: u32) -> Vec<Bucket> {
        self.whole(per_octave, None).buckets
    }

    /// Percentiles, bars, and the share above `limit`, in one pass.
    pub fn whole(&self, per_octave: u32, limit: Option<Duration>) -> LatencyWhole {
        let total = self.histogram.len();
        if total == 0 {
            return LatencyWhole::default();
        }
        let limit = limit.map(|l| l.as_micros() as u64);
        let mut bars = BarBuilder::new(per_octave);
        let (mut seen, mut within) = (0, 0);
        let mut found = [0; QUANTILES.len()];
        for value in self.histogram.iter_recorded() {
            let micros = value.value_iterated_to();
            let count = value.count_at_value();
            bars.add(micros, count);
            seen += count;
            within += if limit.is_some_and(|l| micros <= l) {
                count
            } else {
                0
            };
            for (found, q) in found.iter_mut().zip(QUANTILES) {
                if *found == 0 && seen as f64 >= q * total as f64 {
                    *found = micros;
                }
            }
        }
        let [p50, p90, p99, p999] = found;
        LatencyWhole {
            summary: LatencySummary {
                count: total,
                p50,
                p90,
                p99,
                p999,
                max: self.histogram.max(),
            },
            buckets: bars.bars,
            above: limit.map(|_| 1.0 - within as f64 / total as f64),
        }
    }
}

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

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

    /// Values come ascending.
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
