//! The sample pools of the models that are served together: how many samples each pool holds, and
//! in which extents.
//!
//! A pool holds 16 384 samples, or fewer if samples and answers would exceed 256 MiB. It may grow
//! to 1 GiB if two segments need that. All pools of a catalogue share 1 GiB: the largest shrink
//! first, and each keeps room for two batches.

use thiserror::Error;

use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::ensemble::{Combination, DEFAULT_SEGMENT, Ensemble, RuleKind};
use divisi_runtime::device::format_bytes;

/// Bounds of the sample pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBounds {
    /// The most samples that it holds: the admission bound.
    pub samples: usize,
    /// The most bytes that it may take, samples and answers under way together.
    pub bytes: u64,
}

impl Default for PoolBounds {
    fn default() -> Self {
        PoolBounds {
            samples: 16_384,
            bytes: 256 << 20,
        }
    }
}

/// The factor by which a pool may exceed its bound in bytes if two extents need it, and all pools of a
/// catalogue together.
///
/// The bound is meant for many small samples. 256 large images in two sizes are no mistake
/// (430 MB for 224×224 and 299×299), a gibibyte of them may well be.
const STRETCH: u64 = 4;

/// Two segments need more than the pool may take, or two samples do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "segment_size {segment}: the pool is limited to {} and must hold two segments; expected at \
     most {most}",
    format_bytes(*.bytes)
)]
pub struct SegmentTooLarge {
    /// Samples of a segment.
    pub segment: usize,
    /// The most samples of a segment that would fit.
    pub most: usize,
    /// Bytes that the pool may take.
    pub bytes: u64,
}

/// The sample pool of an ensemble: extents of some slots each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    extents: usize,
    slots: usize,
    sample_bytes: u64,
}

impl PoolSize {
    /// Returns as many extents as fit in `bounds`, or two if those need more bytes, up to
    /// four times the bound. An extent has as many slots as a segment of the usual size has samples, or
    /// as many as fit.
    ///
    /// # Errors
    /// Two segments of a larger size than usual need still more, or two samples do.
    pub fn of(ensemble: &Ensemble, bounds: PoolBounds) -> Result<Self, SegmentTooLarge> {
        let sample_bytes = sample_bytes(ensemble);
        let fitting = |bytes: u64| (bytes / sample_bytes) as usize;
        let segment = ensemble.segment_size;
        let bytes = bounds.bytes.saturating_mul(STRETCH);
        let most = fitting(bytes) / 2;
        if most == 0 || segment > most.max(DEFAULT_SEGMENT) {
            return Err(SegmentTooLarge {
                segment,
                most,
                bytes,
            });
        }
        let samples = bounds.samples.min(fitting(bounds.bytes));
        let slots = segment.min(most);
        Ok(PoolSize {
            extents: (samples / slots).max(2),
            slots,
            sample_bytes,
        })
    }

    /// Returns the pools of the entries of a catalogue. Where they would take more than four times the
    /// bytes of `bounds` together, the largest of them become smaller, down to two extents of a batch:
    /// so that a request of a batch is always let in, whatever else is served.
    ///
    /// # Errors
    /// As [`PoolSize::of`] for any of them alone.
    pub fn of_entries(
        catalogue: &Catalogue,
        bounds: PoolBounds,
    ) -> Result<Vec<Self>, SegmentTooLarge> {
        let entries = catalogue.entries().iter();
        let alone = |entry: &CatalogueEntry| PoolSize::of(entry.ensemble(), bounds);
        let alone = entries.map(alone).collect::<Result<Vec<_>, _>>()?;
        let bytes: Vec<u64> = alone.iter().map(|pool| pool.bytes()).collect();
        let most = level(bounds.bytes.saturating_mul(STRETCH), bytes);
        let pools = alone.into_iter().zip(catalogue.entries());
        let within = |(pool, entry): (PoolSize, &CatalogueEntry)| {
            pool.within(most, entry.ensemble().batch_sizes.largest().get())
        };
        Ok(pools.map(within).collect())
    }

    /// Returns the same pool in `bytes`, or as two extents of `batch` samples if these need more.
    fn within(self, bytes: u64, batch: usize) -> Self {
        if self.bytes() <= bytes {
            return self;
        }
        let samples = (bytes / self.sample_bytes) as usize;
        let slots = self.slots.min((samples / 2).max(batch));
        PoolSize {
            extents: (samples / slots).max(2),
            slots,
            ..self
        }
    }

    /// Returns the number of extents.
    pub fn extents(self) -> usize {
        self.extents
    }

    /// Returns the samples of an extent.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Returns the samples that it holds.
    pub fn samples(self) -> usize {
        self.extents * self.slots
    }

    /// Returns the bytes of host memory that it takes once every extent was used.
    pub fn bytes(self) -> u64 {
        self.samples() as u64 * self.sample_bytes
    }
}

/// Returns the level at which all that is above it is cut off, so that the rest is `budget` in all; what
/// is needed most if that is less.
fn level(budget: u64, mut needed: Vec<u64>) -> u64 {
    needed.sort_unstable();
    let mut left = budget;
    for (at, bytes) in needed.iter().enumerate() {
        let share = left / (needed.len() - at) as u64;
        if *bytes > share {
            return share;
        }
        left -= bytes;
    }
    needed.last().copied().unwrap_or(budget)
}

/// Returns the bytes of a sample in all distinct inputs, and of its answer.
fn sample_bytes(ensemble: &Ensemble) -> u64 {
    // Rule and voters may change while serving: room for whichever takes most.
    let combination = ensemble.combination();
    let rules = RuleKind::suited(ensemble.answers).iter();
    let widths = rules.map(|rule| {
        let all = Combination {
            rule: *rule,
            voting: vec![true; ensemble.members.len()],
            ..combination.clone()
        };
        ensemble.rule_of(&all).state_width()
    });
    let answer = widths.max().unwrap_or(0);
    let steps = ensemble.pipeline.as_ref().map_or(0, |p| p.values());
    4 * (ensemble.transforms().values() + answer + steps) as u64
}
