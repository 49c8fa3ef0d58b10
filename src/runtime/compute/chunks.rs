//! Chunks of a batch: early steps, with large images, take a few samples at a time, so that the
//! values that a step writes are still in cache when the next one reads them; later steps take
//! all samples together, so that weights are read once for all of them.

use crate::network::Graph;

use super::buffers::ValueBuffers;
use super::fuse::FusedStep;

/// The most floats that a step reads and writes so that they stay in a shared cache of some
/// 16 MiB.
const CACHED: usize = 2 << 20;

/// An estimate of how much weights grow when they are laid out; Winograd's grow by up to 4.
const LAID_OUT: usize = 2;

/// The expected number of samples that run together.
const USUAL: usize = 8;

/// The most floats of the arena for samples that run together; more samples would take memory
/// and gain nothing.
const TOGETHER: usize = 16 << 20;

/// The steps before `cut` run `early` samples at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    pub cut: usize,
    pub early: usize,
}

impl Chunks {
    /// Chooses the cut that saves most. A step before it saves its values, if they would not
    /// stay in cache for a usual batch, but reads its weights again for each sample.
    pub(super) fn new(graph: &Graph, buffers: &ValueBuffers, steps: &[FusedStep]) -> Self {
        let floats = |step: &FusedStep| -> usize {
            let values = step.reads().chain([step.output]);
            values.map(|v| buffers.own_floats(v)).sum()
        };
        let weights = |step: &FusedStep| step.weights.map_or(0, |node| graph.node_weights(node));
        let (mut cut, mut best, mut sum) = (0, 0, 0);
        for (at, step) in steps.iter().enumerate() {
            let values = floats(step);
            let saved = if values * USUAL > CACHED { values } else { 0 };
            sum += saved as isize - (LAID_OUT * weights(step)) as isize;
            if sum > best {
                (cut, best) = (at + 1, sum);
            }
        }
        let largest = steps[..cut].iter().map(floats).max().unwrap_or(0);
        Chunks {
            cut,
            early: (CACHED / largest.max(1)).max(1),
        }
    }

    /// Returns the most samples that steps before the cut take at once, of batches of up to
    /// `samples`.
    pub(super) fn most(&self, samples: usize) -> usize {
        samples.min(self.early)
    }

    /// Returns the samples that steps before the cut take at once.
    pub(super) fn early(&self, samples: usize) -> usize {
        even(samples, self.early)
    }
}

/// Returns the samples of a batch that run together, for an arena of `floats` a sample.
pub(super) fn together(batch: usize, floats: usize) -> usize {
    even(batch, (TOGETHER / floats.max(1)).max(USUAL))
}

/// Returns at most `most` of `all`, such that the parts are even.
fn even(all: usize, most: usize) -> usize {
    all.div_ceil(all.div_ceil(most).max(1)).max(1)
}
