//! The batch sizes that entries of a matrix may have.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A number of samples in one batch, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchSize(NonZeroU32);

/// The largest batch size: a larger number is taken for a mistake.
const MAX_BATCH: u32 = 65_536;

impl BatchSize {
    /// Returns the batch size, or `None` unless `samples` is from 1 to 65 536.
    pub fn new(samples: u32) -> Option<Self> {
        NonZeroU32::new(samples)
            .filter(|n| n.get() <= MAX_BATCH)
            .map(BatchSize)
    }

    /// Returns the number of samples.
    pub const fn get(self) -> usize {
        self.0.get() as usize
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Numbers that are no batch sizes.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BatchSizesError {
    /// A size is 0 or too large.
    #[error("expected batch sizes from 1 to {most}, found {0}", most = MAX_BATCH)]
    OutOfRange(i64),
    /// There is no size.
    #[error("expected at least one batch size, found none")]
    Empty,
}

/// The batch sizes that are allowed: at least one, increasing, without repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct BatchSizes(Vec<BatchSize>);

impl From<BatchSizes> for Vec<i64> {
    fn from(sizes: BatchSizes) -> Self {
        sizes.iter().map(|size| size.get() as i64).collect()
    }
}

impl TryFrom<Vec<i64>> for BatchSizes {
    type Error = BatchSizesError;

    fn try_from(sizes: Vec<i64>) -> Result<Self, BatchSizesError> {
        BatchSizes::new(&sizes)
    }
}

impl BatchSizes {
    /// Takes sizes in any order.
    ///
    /// # Errors
    /// There is none, or one is 0 or too large.
    pub fn new(sizes: &[i64]) -> Result<Self, BatchSizesError> {
        let mut all = Vec::new();
        for &size in sizes {
            let valid = u32::try_from(size).ok().and_then(BatchSize::new);
            all.push(valid.ok_or(BatchSizesError::OutOfRange(size))?);
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return Err(BatchSizesError::Empty);
        }
        Ok(BatchSizes(all))
    }

    /// Iterates over the sizes, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = BatchSize> + '_ {
        self.0.iter().copied()
    }

    /// Returns the smallest size, with which worst-fit decreasing starts.
    pub fn smallest(&self) -> BatchSize {
        self.0[0]
    }

    /// Returns the largest size.
    pub fn largest(&self) -> BatchSize {
        self.0[self.0.len() - 1]
    }

    /// Whether `size` is one of them.
    pub fn contains(&self, size: BatchSize) -> bool {
        self.0.contains(&size)
    }

    /// Returns the number of sizes (the paper's B).
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Default for BatchSizes {
    /// Returns the paper's sizes: 8, 16, 32, 64, 128 (section III).
    fn default() -> Self {
        BatchSizes(
            [8, 16, 32, 64, 128]
                .into_iter()
                .filter_map(BatchSize::new)
                .collect(),
        )
    }
}

impl fmt::Display for BatchSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(", "))
    }
}
