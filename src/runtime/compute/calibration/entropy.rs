//! The range in which bytes keep most of a distribution: Migacz, "8-bit inference with TensorRT"
//! (GPU Technology Conference 2017), slides 24 to 39, for numbers of both signs.

use super::histogram::NumberHistogram;
use super::range::ValueRange;

/// The number of values that a byte can represent.
const LEVELS: usize = 128;

/// The share of an empty bin, used instead of 0.
const SMOOTHED: f64 = 1e-4;

/// Returns the range with the least divergence. Its numbers are rounded to the middle of one of 128
/// levels, numbers beyond its ends to the ends, and the result is compared with all numbers.
///
/// Both ends have the same number of bins, or stop at the last number. Zeros do not count, because
/// every range holds them exactly.
pub(super) fn least_divergence(numbers: &NumberHistogram) -> Option<ValueRange> {
    let sides = numbers.sides();
    let used = sides[0].len().max(sides[1].len());
    let mut least = (f64::INFINITY, sides.map(<[u64]>::len));
    let mut scratch = DistributionWindow::default();
    for bins in (1..=used).rev() {
        let held = sides.map(|side| bins.min(side.len()));
        if held[0] + held[1] < LEVELS {
            break;
        }
        let divergence = scratch.fill(sides, held).divergence();
        // Of equal ranges the widest wins; it comes first.
        if divergence < least.0 {
            least = (divergence, held);
        }
    }
    numbers.range(least.1)
}

/// The bins of a range, from the least numbers to the greatest.
#[derive(Default)]
struct DistributionWindow {
    counts: Vec<u64>,
    /// Numbers below and above the range.
    beyond: [u64; 2],
}

impl DistributionWindow {
    fn fill(&mut self, sides: [&[u64]; 2], held: [usize; 2]) -> &Self {
        self.counts.clear();
        let [below, above] = [0, 1].map(|side| sides[side].split_at(held[side]));
        self.counts.extend(below.0.iter().rev());
        self.counts.extend(above.0);
        self.beyond = [below.1.iter().sum(), above.1.iter().sum()];
        self
    }

    /// Returns the Kullback–Leibler divergence of the numbers in levels from all numbers. End bins
    /// that are empty except for numbers beyond them get a small share of the levels' numbers, as
    /// in ONNX Runtime. So a single far outlier does not decide.
    fn divergence(&self) -> f64 {
        let inside: u64 = self.counts.iter().sum();
        let all = inside + self.beyond[0] + self.beyond[1];
        let is_empty_end = |at: &usize| self.counts[*at] == 0 && self.beyond_at(*at) > 0;
        let ends = [0, self.counts.len() - 1];
        let smoothed = ends.iter().filter(|at| is_empty_end(at)).count() as f64 * SMOOTHED;
        let mut divergence = 0.0;
        for level in 0..LEVELS {
            let edge = |level: usize| level * self.counts.len() / LEVELS;
            let bins = edge(level)..edge(level + 1);
            let (mut count, mut filled) = (0, 0);
            for &bin in &self.counts[bins.clone()] {
                count += bin;
                filled += u64::from(bin > 0);
            }
            let kept = count as f64 / filled as f64 / inside as f64 * (1.0 - smoothed);
            for at in bins {
                let numbers = self.counts[at] + self.beyond_at(at);
                let share = numbers as f64 / all as f64;
                let kept = if self.counts[at] > 0 { kept } else { SMOOTHED };
                if numbers > 0 {
                    divergence += share * (share / kept).ln();
                }
            }
        }
        divergence
    }

    /// Returns the numbers beyond the range that are taken to a bin at its end.
    fn beyond_at(&self, bin: usize) -> u64 {
        let first = if bin == 0 { self.beyond[0] } else { 0 };
        let is_last = bin + 1 == self.counts.len();
        first + if is_last { self.beyond[1] } else { 0 }
    }
}
