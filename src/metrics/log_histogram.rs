//! Histograms on a logarithmic axis: cheap to record, and coarse ones cheap to keep many of.

use super::latency::{Bucket, LatencySummary};

/// The longest latency that is told from longer ones: an hour.
const MOST_MICROS: u64 = 3_600_000_000;

/// Counters of latencies in microseconds on a logarithmic axis, `2^BITS` for each doubling.
///
/// Values below `2^BITS` have a counter each. The memory grows with the longest latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScaledHistogram<const BITS: u32> {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

/// A coarse histogram: 16 counters for each doubling, percentiles right to about 4 %.
pub type LogHistogram = ScaledHistogram<4>;

impl<const BITS: u32> ScaledHistogram<BITS> {
    /// Counters for each doubling; the last significant bits of a value choose among them.
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

    /// Forgets all latencies and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.max) = (0, 0);
    }

    /// Returns the number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Iterates over the counters that are not zero: the longest latency of each, and the
    /// count.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counters = self.counts.iter().enumerate().filter(|(_, c)| **c > 0);
        counters.map(|(index, count)| (Self::edges(index).1, *count))
    }

    /// Returns the latencies recorded since it was `earlier`.
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
        LatencySummary::of(self.total, quantiles, self.max)
    }

    /// Returns the latencies below which the shares `q`, ascending, lie. Latencies within a
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

    /// Returns the least edge of a counter that is not below `micros`: longer latencies are
    /// told from those up to it.
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
        // Latencies of the counter that it lies in count as evenly spread.
        let (from, to) = Self::edges(at);
        let rest = (to.saturating_sub(micros)) as f64 / (to - from).max(1) as f64;
        let here = self.counts.get(at).copied().unwrap_or(0) as f64;
        Some((above as f64 + here * rest.clamp(0.0, 1.0)) / self.total as f64)
    }

    /// Returns bars on a logarithmic axis, `per_octave` for each doubling (at most as many
    /// as there are counters), without the empty ones.
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

    /// Returns the counter of a value.
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
