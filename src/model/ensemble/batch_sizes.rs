//! The allowed batch sizes of matrix entries.

use std::fmt;
use std::num::NonZeroU32;

use divisi_runtime::reading::ReadError;
use serde::{Deserialize, Serialize};

/// A number of samples in one batch, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchSize(NonZeroU32);

/// The largest batch size. A larger number is treated as a mistake.
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

/// The allowed batch sizes: at least one, increasing, without repeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct BatchSizes(Vec<BatchSize>);

impl From<BatchSizes> for Vec<i64> {
    fn from(sizes: BatchSizes) -> Self {
        sizes.iter().map(|size| size.get() as i64).collect()
    }
}

impl TryFrom<Vec<i64>> for BatchSizes {
    type Error = ReadError;

    fn try_from(sizes: Vec<i64>) -> Result<Self, ReadError> {
        BatchSizes::new(&sizes)
    }
}

impl BatchSizes {
    /// Creates the set from sizes in any order.
    ///
    /// # Errors
    /// There is no size, or a size is 0 or too large.
    pub fn new(sizes: &[i64]) -> Result<Self, ReadError> {
        let mut all = Vec::new();
        for &size in sizes {
            let valid = u32::try_from(size).ok().and_then(BatchSize::new);
            all.push(valid.ok_or_else(|| {
                ReadError::expected(format_args!("batch sizes from 1 to {MAX_BATCH}"), size)
            })?);
        }
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return Err(ReadError::expected("at least one batch size", "none"));
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

    /// Returns whether `size` is allowed.
    pub fn contains(&self, size: BatchSize) -> bool {
        self.0.contains(&size)
    }

    /// Returns the sizes in either set.
    #[must_use]
    pub fn union(&self, other: &BatchSizes) -> BatchSizes {
        let mut all: Vec<BatchSize> = self.iter().chain(other.iter()).collect();
        all.sort_unstable();
        all.dedup();
        BatchSizes(all)
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
