//! Histograms of latencies on a logarithmic axis: precise ones with three digits for the whole time
//! since the start, and coarse ones that need little time and memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A distribution of latencies with three digits, up to an hour.
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
    const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

    /// Creates a summary of `count` latencies from its quantiles and the longest one.
    pub(super) fn from_quantiles(count: u64, [p50, p90, p99, p999]: [u64; 4], max: u64) -> Self {
        LatencySummary {
            count,
            p50,
            p90,
            p99,
            p999,
            max,
        }
    }

    /// Returns whether there are enough requests for the quantile `q`: at least one is expected
    /// above it (100 for p99, 1 000 for p99.9).
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

/// All figures of a distribution, computed in one pass.
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

    /// Returns bars on a logarithmic axis, `per_octave` per doubling, without the empty ones.
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
            summary: LatencySummary::from_quantiles(total, found, longest),
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

    /// Adds a value. Values must be in ascending order.
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

/// The maximum latency, an hour. Longer latencies are not distinguished.
const MOST_MICROS: u64 = 3_600_000_000;

/// Counters of latencies in microseconds on a logarithmic axis, `2^BITS` per doubling.
///
/// Values below `2^BITS` have a counter each. The memory grows with the longest latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScaledHistogram<const BITS: u32> {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

/// A coarse histogram: 16 counters per doubling, with percentiles accurate to about 4 %.
pub type LogHistogram = ScaledHistogram<4>;

impl<const BITS: u32> ScaledHistogram<BITS> {
    /// The number of counters per doubling. The last significant bits of a value select one of
    /// them.
    const PER_OCTAVE: u64 = 1 << BITS;

    /// Records a latency `weight` times.
    pub fn record(&mut self, micros: u64, weight: u64) {
        let micros = micros.clamp(1, MOST_MICROS);
        let index = Self::index(micros);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += weight;
        self.total += weight;
        self.max = self.max.max(micros);
    }

    /// Records the latencies of another histogram.
    pub fn add(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// Removes all latencies, but keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.max) = (0, 0);
    }

    /// Returns the number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Iterates over the non-zero counters: the longest latency of each, and its count.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counters = self.counts.iter().enumerate().filter(|(_, c)| **c > 0);
        counters.map(|(index, count)| (Self::edges(index).1, *count))
    }

    /// Returns the latencies recorded since the histogram was `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        let counts = self.counts.iter().zip(before);
        let counts: Vec<u64> = counts.map(|(now, then)| now.saturating_sub(then)).collect();
        let longest = counts.iter().rposition(|&count| count > 0);
        ScaledHistogram {
            total: counts.iter().sum(),
            max: longest.map_or(0, |index| Self::edges(index).1.min(self.max)),
            counts,
        }
    }

    /// Returns the percentiles, in microseconds.
    pub fn summary(&self) -> LatencySummary {
        let quantiles = self.quantiles(LatencySummary::QUANTILES);
        LatencySummary::from_quantiles(self.total, quantiles, self.max)
    }

    /// Returns the latencies at the quantiles `q`, which must be ascending. Latencies within a
    /// counter count as evenly spread. Returns zeros if nothing was recorded.
    pub fn quantiles<const N: usize>(&self, q: [f64; N]) -> [u64; N] {
        let mut found = [0; N];
        let mut next = 0;
        let mut below = 0;
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            while next < N && q[next] * self.total as f64 <= (below + count) as f64 {
                let (from, to) = Self::edges(index);
                let share = (q[next] * self.total as f64 - below as f64) / count as f64;
                let at = from as f64 + share * (to - from) as f64;
                found[next] = (at.round() as u64).min(self.max);
                next += 1;
            }
            below += count;
        }
        found
    }

    /// Returns the smallest counter edge that is not below `micros`. The histogram distinguishes
    /// latencies up to it from longer ones.
    pub fn edge(micros: u64) -> u64 {
        Self::edges(Self::index(micros.clamp(1, MOST_MICROS))).1
    }

    /// Returns the number of latencies above `edge`, an [edge](ScaledHistogram::edge) of a
    /// counter.
    pub fn above(&self, edge: u64) -> u64 {
        let at = Self::index(edge.clamp(1, MOST_MICROS));
        self.counts.iter().skip(at + 1).sum()
    }

    /// Returns the share of latencies above `micros`, or `None` if nothing was recorded.
    pub fn share_above(&self, micros: u64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let at = Self::index(micros.clamp(1, MOST_MICROS));
        let above: u64 = self.counts.iter().skip(at + 1).sum();
        // Latencies of the counter with the limit count as evenly spread.
        let (from, to) = Self::edges(at);
        let rest = (to.saturating_sub(micros)) as f64 / (to - from).max(1) as f64;
        let here = self.counts.get(at).copied().unwrap_or(0) as f64;
        Some((above as f64 + here * rest.clamp(0.0, 1.0)) / self.total as f64)
    }

    /// Returns bars on a logarithmic axis, `per_octave` per doubling (at most as many as counters),
    /// without the empty ones.
    pub fn buckets(&self, per_octave: u32) -> Vec<Bucket> {
        let per_octave = u64::from(per_octave).clamp(1, Self::PER_OCTAVE);
        let merged = (Self::PER_OCTAVE / per_octave) as usize;
        let bar = |(bar, counters): (usize, &[u64])| Bucket {
            from: Self::edges(bar * merged).0,
            micros: Self::edges((bar + 1) * merged - 1).1,
            count: counters.iter().sum(),
        };
        let bars = self.counts.chunks(merged).enumerate().map(bar);
        bars.filter(|bar| bar.count > 0).collect()
    }

    /// Returns the counter for a value.
    fn index(micros: u64) -> usize {
        if micros < Self::PER_OCTAVE {
            return micros as usize;
        }
        let octave = micros.ilog2() - BITS;
        let within = (micros >> octave) - Self::PER_OCTAVE;
        ((u64::from(octave) + 1) * Self::PER_OCTAVE + within) as usize
    }

    /// Returns the values of a counter: above the first, up to the second.
    fn edges(index: usize) -> (u64, u64) {
        let index = index as u64;
        if index < Self::PER_OCTAVE {
            return (index.saturating_sub(1), index);
        }
        let octave = index / Self::PER_OCTAVE - 1;
        let first = (Self::PER_OCTAVE + index % Self::PER_OCTAVE) << octave;
        (first - 1, first + (1 << octave) - 1)
    }
}
