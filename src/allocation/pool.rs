//! The sample pool in host memory: how large it may get, and how large it is.

use thiserror::Error;

use crate::device::format_bytes;
use crate::ensemble::{Combination, Ensemble, RuleKind};

/// Bounds of the sample pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBounds {
    /// Samples it holds at most: the admission bound.
    pub samples: usize,
    /// Bytes it may take at most, samples and answers under way together.
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

/// How many times its bound in bytes the pool may take where two segments need it.
///
/// The bound is meant for many small samples; 256 large images in two sizes are no
/// mistake (430 MB for 224×224 and 299×299), a gibibyte of them may well be.
const STRETCH: u64 = 4;

/// Two segments need more than the pool may take.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "segment_size {segment}: the pool may take {} and must hold two segments; expected at most {most}",
    format_bytes(*.bytes)
)]
pub struct SegmentTooLarge {
    pub segment: usize,
    pub most: usize,
    pub bytes: u64,
}

/// The sample pool of an ensemble: extents of a segment each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSize {
    extents: usize,
    segment: usize,
    sample_bytes: u64,
}

impl PoolSize {
    /// As many extents as fit in `bounds`, or two where those need more bytes, up to four
    /// times the bound.
    ///
    /// # Errors
    /// Two segments need still more.
    pub fn of(ensemble: &Ensemble, bounds: PoolBounds) -> Result<Self, SegmentTooLarge> {
        let sample_bytes = sample_bytes(ensemble);
        let fitting = |bytes: u64| (bytes / sample_bytes) as usize;
        let segment = ensemble.segment_size;
        let most = bounds.bytes.saturating_mul(STRETCH);
        if 2 * segment > fitting(most) {
            return Err(SegmentTooLarge {
                segment,
                most: fitting(most) / 2,
                bytes: most,
            });
        }
        let samples = bounds.samples.min(fitting(bounds.bytes));
        Ok(PoolSize {
            extents: (samples / segment).max(2),
            segment,
            sample_bytes,
        })
    }

    /// How many extents.
    pub fn extents(self) -> usize {
        self.extents
    }

    /// Bytes of host memory that it takes once every extent was used.
    pub fn bytes(self) -> u64 {
        (self.extents * self.segment) as u64 * self.sample_bytes
    }
}

/// Bytes of a sample, as each distinct input wants it, and of its answer.
fn sample_bytes(ensemble: &Ensemble) -> u64 {
    // The rule may change while serving: room for whichever takes most.
    let combination = ensemble.combination();
    let rules = RuleKind::ALL.map(|rule| Combination {
        rule,
        ..combination.clone()
    });
    let widths = rules.map(|c| c.build(ensemble.classes).state_width());
    let answer = widths.into_iter().max().unwrap_or(0);
    4 * (ensemble.transforms().values() + answer) as u64
}
