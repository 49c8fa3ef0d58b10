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

/// The limits of the sample pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBounds {
    /// The maximum number of samples, which limits admission.
    pub samples: usize,
    /// The maximum number of bytes of samples and answers under way together.
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

/// The factor by which a pool with two extents may exceed its limit in bytes. Also applies to all
/// pools of a catalogue together.
///
/// The limit is meant for many small samples. 256 large images in two sizes are reasonable (430 MB
/// for 224×224 and 299×299), but a gibibyte of them may be a mistake.
const STRETCH: u64 = 4;

/// Two segments, or two samples, need more than the pool may take.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "segment_size {segment}: the pool is limited to {} and must hold two segments; expected at \
     most {most}",
    format_bytes(*.bytes)
)]
pub struct SegmentTooLarge {
    /// The samples of a segment.
    pub segment: usize,
    /// The maximum number of samples of a segment that fits.
    pub most: usize,
    /// The maximum number of bytes of the pool.
    pub bytes: u64,
}

/// The sample pool of an ensemble: extents of several slots each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    extents: usize,
    slots: usize,
    sample_bytes: u64,
}

impl PoolSize {
    /// Returns the number of extents that fit in `bounds`, or two extents if these need up to four
    /// times the bytes. An extent has a slot for each sample of a segment of the usual size, or
    /// fewer slots if they do not fit.
    ///
    /// # Errors
    /// Two segments of more than the usual size, or two samples, need even more memory.
    pub fn for_ensemble(ensemble: &Ensemble, bounds: PoolBounds) -> Result<Self, SegmentTooLarge> {
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

    /// Returns the pools of the entries of a catalogue. If the pools together would take more than
    /// four times the bytes of `bounds`, the largest pools shrink, down to two extents of a batch.
    /// A request of one batch is therefore always admitted, regardless of the other entries.
    ///
    /// # Errors
    /// As [`PoolSize::for_ensemble`] for a single entry.
    pub fn for_catalogue(
        catalogue: &Catalogue,
        bounds: PoolBounds,
    ) -> Result<Vec<Self>, SegmentTooLarge> {
        let entries = catalogue.entries().iter();
        let alone = |entry: &CatalogueEntry| PoolSize::for_ensemble(entry.ensemble(), bounds);
        let alone = entries.map(alone).collect::<Result<Vec<_>, _>>()?;
        let bytes: Vec<u64> = alone.iter().map(|pool| pool.bytes()).collect();
        let most = cut_level(bounds.bytes.saturating_mul(STRETCH), bytes);
        let pools = alone.into_iter().zip(catalogue.entries());
        let within = |(pool, entry): (PoolSize, &CatalogueEntry)| {
            pool.limited_to(most, entry.ensemble().batch_sizes.largest().get())
        };
        Ok(pools.map(within).collect())
    }

    /// Returns the pool limited to `bytes`, or two extents of `batch` samples if these need more.
    fn limited_to(self, bytes: u64, batch: usize) -> Self {
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

    /// Returns the number of samples of an extent.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Returns the number of samples of the pool.
    pub fn samples(self) -> usize {
        self.extents * self.slots
    }

    /// Returns the bytes of host memory in use once every extent was used.
    pub fn bytes(self) -> u64 {
        self.samples() as u64 * self.sample_bytes
    }
}

/// Returns the level to which the largest values must shrink so that the sum is `budget`, or the
/// largest value if no value must shrink.
fn cut_level(budget: u64, mut needed: Vec<u64>) -> u64 {
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
    // The rule and the voters may change while serving. Reserve room for the largest.
    let combination = ensemble.combination();
    let rules = RuleKind::suited(ensemble.answers).iter();
    let widths = rules.map(|rule| {
        let all = Combination {
            rule: *rule,
            voting: vec![true; ensemble.members.len()],
            ..combination.clone()
        };
        ensemble.build_rule(&all).state_width()
    });
    let answer = widths.max().unwrap_or(0);
    let steps = ensemble.pipeline.as_ref().map_or(0, |p| p.values());
    4 * (ensemble.transforms().values() + answer + steps) as u64
}
