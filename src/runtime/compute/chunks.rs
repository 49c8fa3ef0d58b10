//! How a batch goes through a network: large images a few at a time, so that what a step
//! writes is still in cache when the next one reads it; small ones all together, so that
//! weights are read once for all of them.

use crate::network::Graph;

use super::buffers::ValueBuffers;
use super::fuse::FusedStep;

/// Floats that a step may read and write for values to stay in a shared cache of some
/// 16 MiB.
const CACHED: usize = 2 << 20;

/// Times that weights grow when they are laid out, as a guess: Winograd's by up to 4.
const LAID_OUT: usize = 2;

/// Samples that are expected to be run together.
const USUAL: usize = 8;

/// Floats of the arena for samples that are run together: more of them bring nothing, but
/// take memory.
const TOGETHER: usize = 16 << 20;

/// The steps before `cut` run `early` samples at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    pub cut: usize,
    pub early: usize,
}

impl Chunks {
    /// Cuts where most is won: a step whose values would not stay in cache for a usual
    /// batch saves them, and reads its weights again for each sample.
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

    /// Most samples that steps before the cut take at once, of batches up to `samples`.
    pub(super) fn most(&self, samples: usize) -> usize {
        samples.min(self.early)
    }

    /// Samples that steps before the cut take at once.
    pub(super) fn early(&self, samples: usize) -> usize {
        even(samples, self.early)
    }
}

/// Samples of a batch that are run together, for an arena of `floats` a sample.
pub(super) fn together(batch: usize, floats: usize) -> usize {
    even(batch, (TOGETHER / floats.max(1)).max(USUAL))
}

/// At most `most` of `all`, such that the parts are even.
fn even(all: usize, most: usize) -> usize {
    all.div_ceil(all.div_ceil(most).max(1)).max(1)
}
