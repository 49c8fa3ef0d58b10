//! Observers of a value: they receive its numbers row by row and choose its range.

use thiserror::Error;

use super::entropy::least_divergence;
use super::histogram::NumberHistogram;
use super::method::RangeMethod;
use super::range::ValueRange;

/// Chooses the range of a value from its numbers, whatever their order.
#[derive(Clone, Debug)]
pub struct RangeObserver {
    method: RangeMethod,
    seen: SeenNumbers,
}

/// The data about the numbers that the method needs.
#[derive(Clone, Debug)]
enum SeenNumbers {
    Nothing,
    Ends { low: f32, high: f32 },
    Counts(Box<NumberHistogram>),
}

/// A number is NaN or infinite.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("number {at} is not finite")]
pub struct NotFiniteNumber {
    /// Its position among the numbers, from 0.
    pub at: usize,
}

impl RangeObserver {
    /// Creates an observer that has seen no number.
    pub fn new(method: RangeMethod) -> Self {
        RangeObserver {
            method,
            seen: SeenNumbers::Nothing,
        }
    }

    /// Adds numbers.
    ///
    /// # Errors
    /// A number is not finite; then no number is added.
    pub fn add(&mut self, numbers: &[f32]) -> Result<(), NotFiniteNumber> {
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(NotFiniteNumber { at });
        }
        if numbers.is_empty() {
            return Ok(());
        }
        match &mut self.seen {
            SeenNumbers::Ends { low, high } => {
                *low = numbers.iter().copied().fold(*low, f32::min);
                *high = numbers.iter().copied().fold(*high, f32::max);
            }
            SeenNumbers::Counts(counts) => numbers.iter().for_each(|number| counts.add(*number)),
            SeenNumbers::Nothing => {
                self.seen = SeenNumbers::none(self.method);
                return self.add(numbers);
            }
        }
        Ok(())
    }

    /// Returns the range, or `None` if no number was seen.
    pub fn range(&self) -> Option<ValueRange> {
        match &self.seen {
            SeenNumbers::Nothing => None,
            SeenNumbers::Ends { low, high } => ValueRange::new(*low, *high).ok(),
            SeenNumbers::Counts(counts) => match self.method {
                RangeMethod::Percentile(share) => counts.percentile(share),
                _ => least_divergence(counts),
            },
        }
    }
}

impl SeenNumbers {
    fn none(method: RangeMethod) -> Self {
        match method {
            RangeMethod::MinMax => SeenNumbers::Ends {
                low: 0.0,
                high: 0.0,
            },
            RangeMethod::Percentile(_) | RangeMethod::Entropy => {
                SeenNumbers::Counts(Box::default())
            }
        }
    }
}
