//! A coarse distribution of latencies: cheap to record, to keep many of, to compare.

use super::latency::{Bucket, LatencySummary};

/// Counters for each doubling; the last significant bits of a value choose among them.
const PER_OCTAVE: u64 = 16;
const BITS: u32 = PER_OCTAVE.trailing_zeros();

/// Longer ones are counted as this (an hour).
const MOST_MICROS: u64 = 3_600_000_000;

/// Counters on a logarithmic axis, 16 for each doubling, in microseconds. It takes memory
/// up to its longest latency; percentiles are right to about 4 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHistogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl LogHistogram {
    /// Records a latency `weight` times.
    pub fn record(&mut self, micros: u64, weight: u64) {
        let micros = micros.clamp(1, MOST_MICROS);
        let index = index(micros);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += weight;
        self.total += weight;
        self.max = self.max.max(micros);
    }

    /// Records what another one has.
    pub fn add(&mut self, other: &LogHistogram) {
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

    /// Forgets all of them; the memory is kept for those to come.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.max) = (0, 0);
    }

    /// Latencies recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// What was recorded since it was as `earlier`, which it grew from.
    #[must_use]
    pub fn since(&self, earlier: &LogHistogram) -> LogHistogram {
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        let counts = self.counts.iter().zip(before);
        let counts: Vec<u64> = counts.map(|(now, then)| now.saturating_sub(then)).collect();
        let longest = counts.iter().rposition(|&count| count > 0);
        LogHistogram {
            total: counts.iter().sum(),
            max: longest.map_or(0, |index| edges(index).1.min(self.max)),
            counts,
        }
    }

    /// Its percentiles, in microseconds.
    pub fn summary(&self) -> LatencySummary {
        let [p50, p90, p99, p999] = self.quantiles([0.5, 0.9, 0.99, 0.999]);
        LatencySummary {
            count: self.total,
            p50,
            p90,
            p99,
            p999,
            max: self.max,
        }
    }

    /// Latencies below which shares `q` lie, ascending; between the edges of a counter as
    /// if its latencies lay evenly. Zeros where nothing was recorded.
    pub fn quantiles<const N: usize>(&self, q: [f64; N]) -> [u64; N] {
        let mut found = [0; N];
        let mut next = 0;
        let mut below = 0;
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            while next < N && q[next] * self.total as f64 <= (below + count) as f64 {
                let (from, to) = edges(index);
                let share = (q[next] * self.total as f64 - below as f64) / count as f64;
                let at = from as f64 + share * (to - from) as f64;
                found[next] = (at.round() as u64).min(self.max);
                next += 1;
            }
            below += count;
        }
        found
    }

    /// The least edge of a counter that is not below `micros`: latencies above it are told
    /// from those up to it.
    pub fn edge(micros: u64) -> u64 {
        edges(index(micros.clamp(1, MOST_MICROS))).1
    }

    /// Latencies above `edge`, an [edge](LogHistogram::edge) of a counter.
    pub fn above(&self, edge: u64) -> u64 {
        let at = index(edge.clamp(1, MOST_MICROS));
        self.counts.iter().skip(at + 1).sum()
    }

    /// Share of latencies above `micros`; none where nothing was recorded.
    pub fn share_above(&self, micros: u64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let at = index(micros.clamp(1, MOST_MICROS));
        let above: u64 = self.counts.iter().skip(at + 1).sum();
        // Those of the counter that it lies in, as if they lay evenly.
        let (from, to) = edges(at);
        let rest = (to.saturating_sub(micros)) as f64 / (to - from).max(1) as f64;
        let here = self.counts.get(at).copied().unwrap_or(0) as f64;
        Some((above as f64 + here * rest.clamp(0.0, 1.0)) / self.total as f64)
    }

    /// Bars on a logarithmic axis, `per_octave` for each doubling (at most 16), without
    /// the empty ones.
    pub fn buckets(&self, per_octave: u32) -> Vec<Bucket> {
        let merged = (PER_OCTAVE / u64::from(per_octave).clamp(1, PER_OCTAVE)) as usize;
        let bar = |(bar, counters): (usize, &[u64])| Bucket {
            from: edges(bar * merged).0,
            micros: edges((bar + 1) * merged - 1).1,
            count: counters.iter().sum(),
        };
        let bars = self.counts.chunks(merged).enumerate().map(bar);
        bars.filter(|bar| bar.count > 0).collect()
    }
}

/// The counter of a value: below 16 the value itself, then 16 for each doubling.
fn index(micros: u64) -> usize {
    if micros < PER_OCTAVE {
        return micros as usize;
    }
    let octave = micros.ilog2() - BITS;
    let within = (micros >> octave) - PER_OCTAVE;
    ((u64::from(octave) + 1) * PER_OCTAVE + within) as usize
}

/// The values that a counter holds: above the first, up to the second.
fn edges(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < PER_OCTAVE {
        return (index.saturating_sub(1), index);
    }
    let octave = index / PER_OCTAVE - 1;
    let first = (PER_OCTAVE + index % PER_OCTAVE) << octave;
    (first - 1, first + (1 << octave) - 1)
}
