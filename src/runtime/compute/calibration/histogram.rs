//! How often numbers occur, in bins whose width doubles when larger numbers arrive.

use super::method::Percentile;
use super::range::ValueRange;

/// Bins on each side of 0.
pub(super) const BINS: usize = 2048;

/// The logarithm of [`BINS`] to base 2.
const BINS_LOG2: i32 = BINS.ilog2() as i32;

/// A count of finite numbers. Zeros are counted apart, others by sign and magnitude. The width of
/// bins is the least power of two for which the largest magnitude has a bin, so the order of numbers
/// makes no difference.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberHistogram {
    /// Bins of negative and of positive numbers, the smallest magnitudes first. Empty until the
    /// first number other than 0.
    sides: [Vec<u64>; 2],
    /// The logarithm of a bin's width to base 2.
    width_log2: i32,
    zeros: u64,
    low: f32,
    high: f32,
}

impl NumberHistogram {
    /// Counts a finite number.
    pub(super) fn add(&mut self, number: f32) {
        if number == 0.0 {
            self.zeros += 1;
            return;
        }
        self.low = self.low.min(number);
        self.high = self.high.max(number);
        let magnitude = f64::from(number.abs());
        let needed = exponent(magnitude) + 1 - BINS_LOG2;
        if self.sides[0].is_empty() {
            self.sides = [vec![0; BINS], vec![0; BINS]];
            self.width_log2 = needed;
        } else if needed > self.width_log2 {
            self.widen(needed);
        }
        let bin = (magnitude / self.width()) as usize;
        self.sides[usize::from(number > 0.0)][bin] += 1;
    }

    /// Joins neighbouring bins until they are 2 to the power of `width_log2` wide.
    fn widen(&mut self, width_log2: i32) {
        let doublings = (width_log2 - self.width_log2).min(BINS_LOG2) as u32;
        for side in &mut self.sides {
            for bin in 1..BINS {
                let count = std::mem::take(&mut side[bin]);
                side[bin >> doublings] += count;
            }
        }
        self.width_log2 = width_log2;
    }

    /// Returns the width of a bin.
    pub(super) fn width(&self) -> f64 {
        2f64.powi(self.width_log2)
    }

    /// Returns the bins of negative and of positive numbers up to the last that is not empty.
    pub(super) fn sides(&self) -> [&[u64]; 2] {
        [0, 1].map(|side| {
            let bins = &self.sides[side];
            let last = bins.iter().rposition(|&count| count > 0);
            &bins[..last.map_or(0, |last| last + 1)]
        })
    }

    /// Returns the range with the same number of bins on each side of 0, no wider than the numbers.
    pub(super) fn range(&self, bins: [usize; 2]) -> Option<ValueRange> {
        let ends = bins.map(|count| count as f64 * self.width());
        let low = (-ends[0]).max(f64::from(self.low));
        let high = ends[1].min(f64::from(self.high));
        ValueRange::new(low as f32, high as f32).ok()
    }

    /// Returns the range with at most half of the numbers outside of `share` beyond each end.
    pub(super) fn percentile(&self, share: Percentile) -> Option<ValueRange> {
        let beside = self.sides.iter().flatten().sum::<u64>();
        let all = (self.zeros + beside) as f64;
        let most = all * (100.0 - share.percent()) / 200.0;
        let held = self.sides().map(|bins| {
            let mut beyond = 0.0;
            let first = bins.iter().rposition(|&count| {
                beyond += count as f64;
                beyond > most
            });
            first.map_or(0, |bin| bin + 1)
        });
        self.range(held)
    }
}

/// Returns the exponent of a positive number of float32, as the power of two at or below it.
fn exponent(number: f64) -> i32 {
    // Numbers that are subnormal in float32 are not in float64.
    ((number.to_bits() >> 52) & 0x7ff) as i32 - 1023
}
