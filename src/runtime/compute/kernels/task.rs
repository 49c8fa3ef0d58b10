//! Tasks of steps: the operands, weights and memory of one, and how work is divided into them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::buffer::Buffer;
use super::memory::BatchMemory;
use crate::compute::buffers::{ReducedView, TensorView, ValuePlace};
use crate::compute::candle_node::CandleNode;
use crate::compute::family::Family;
use crate::compute::fuse::FusedStep;

/// A fused step with its operands placed in the arena.
#[derive(Clone, Debug)]
pub(in crate::compute) struct PlacedStep {
    pub fused: FusedStep,
    pub inputs: Vec<TensorView>,
    pub residual: Option<TensorView>,
    pub output: TensorView,
    pub reduced: ReducedOperands,
}

/// The operands of a step in reduced numbers, with or without floats.
#[derive(Clone, Debug, Default)]
pub(in crate::compute) struct ReducedOperands {
    pub inputs: Vec<Option<ReducedView>>,
    pub residual: Option<ReducedView>,
    pub output: Option<ReducedView>,
    /// Numbers added to the bias of each output channel if a product reads reduced numbers.
    pub correction: Option<Arc<[f32]>>,
}

impl PlacedStep {
    /// Returns whether the step writes floats.
    pub(crate) fn has_floats(&self) -> bool {
        self.output.place != ValuePlace::Nowhere
    }
}

/// Folded weights of one step.
#[derive(Debug, Default)]
pub(in crate::compute) struct StepWeights {
    /// Weights as the step's method reads them, or the scale of a step of scale and shift.
    pub packed: Buffer,
    /// A value for each output channel, followed by zeros up to a whole vector; empty without a
    /// bias.
    pub bias: Vec<f32>,
    /// Whether a faster kernel is exact for these weights
    /// ([`StepMethod::fits_pairs`](super::step::StepMethod::fits_pairs)).
    pub pairs_fit: bool,
    /// The node of a step that Candle runs.
    pub candle: Option<CandleNode>,
}

impl StepWeights {
    /// Returns whether every bias is finite, so that sums of whole numbers never become NaN.
    pub(super) fn has_finite_bias(&self) -> bool {
        self.bias.iter().all(|bias| bias.is_finite())
    }
}

/// Scratch of a step, in floats, except for `offsets`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::compute) struct Scratch {
    /// Scratch for each thread.
    pub own: usize,
    /// Scratch for all threads together.
    pub shared: usize,
    /// Row offsets for each thread.
    pub offsets: usize,
}

impl Scratch {
    /// Returns scratch that suffices for both, one after the other.
    pub(crate) fn or(self, other: Scratch) -> Scratch {
        Scratch {
            own: self.own.max(other.own),
            shared: self.shared.max(other.shared),
            offsets: self.offsets.max(other.offsets),
        }
    }
}

/// The most phases of a step.
pub(in crate::compute) const MAX_PHASES: usize = 4;

/// One task of one step.
pub(in crate::compute) struct Call<'a> {
    pub step: &'a PlacedStep,
    pub weights: &'a StepWeights,
    pub family: Family,
    pub memory: BatchMemory<'a>,
    pub samples: usize,
    pub threads: usize,
    /// The thread that runs it, for its scratch.
    pub thread: usize,
    /// That thread's row offsets.
    pub offsets: &'a mut Vec<usize>,
    /// Whether each sample looked up an entry that does not exist.
    pub misses: &'a [AtomicBool],
}

/// `total` items, divided into even tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    total: usize,
    tasks: usize,
}

/// Tasks for each thread if a step has enough work, so that others take over from a thread
/// that is delayed.
const TASKS_A_THREAD: usize = 4;

/// The least floats of a task.
const GRAIN: usize = 4 * 1024;

impl Split {
    /// Divides into tasks of at least `grain` items each, for `threads`.
    pub(super) fn new(total: usize, grain: usize, threads: usize) -> Self {
        let most = if threads > 1 {
            threads * TASKS_A_THREAD
        } else {
            1
        };
        Split {
            total,
            tasks: (total / grain.max(1)).clamp(1, most),
        }
    }

    /// Divides into tasks of at most `most` items each.
    pub(super) fn at_most(total: usize, most: usize) -> Self {
        Split {
            total,
            tasks: total.div_ceil(most.max(1)).max(1),
        }
    }

    pub(super) fn tasks(self) -> usize {
        self.tasks
    }

    /// Returns the items of task `task`.
    pub(super) fn range(self, task: usize) -> Range<usize> {
        task * self.total / self.tasks..(task + 1) * self.total / self.tasks
    }
}

/// Divides a step's output pixels of all samples.
pub(super) fn pixels(step: &PlacedStep, samples: usize, threads: usize) -> Split {
    let to = step.output;
    let read: usize = step.inputs.iter().map(|v| v.pixels() * v.channels).sum();
    let work = (read + to.pixels() * to.channels) / to.pixels().max(1);
    Split::new(samples * to.pixels(), GRAIN / work.max(1), threads)
}

/// Blocks of rows times ranges of panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProductBlocks {
    rows: Split,
    panels: Split,
}

/// The most floats of input that a block reads again for every panel: half of a common
/// second-level cache.
const BLOCK_FLOATS: usize = 64 * 1024;

/// The least rows of a block, so that a panel is used while it is in cache, and the most.
const LEAST_ROWS: usize = 24;
const MOST_ROWS: usize = 1024;

/// Blocks for each thread, so that threads finish at about the same time.
const BLOCKS_A_THREAD: usize = 4;

impl ProductBlocks {
    /// Divides a product of `rows`; each row brings `touched` floats into cache.
    pub(super) fn new(rows: usize, panels: usize, touched: usize, threads: usize) -> Self {
        let wanted = if threads > 1 {
            threads * BLOCKS_A_THREAD
        } else {
            1
        };
        let even = even_blocks(rows, wanted);
        let rows = Split {
            total: rows,
            tasks: match rows.div_ceil(most_rows(touched)) {
                cached if cached > even => cached.next_multiple_of(threads),
                _ => even,
            },
        };
        let columns = wanted.div_ceil(rows.tasks());
        ProductBlocks {
            rows,
            panels: Split::at_most(panels, panels.div_ceil(columns)),
        }
    }

    /// As [`ProductBlocks::new`], for rows of tokens, which are fewer than the pixels of images
    /// and have more panels: threads share the panels, so that each is used for many rows.
    pub(super) fn of_tokens(rows: usize, panels: usize, touched: usize, threads: usize) -> Self {
        let blocks = Split::at_most(rows, most_rows(touched));
        let columns = (threads * BLOCKS_A_THREAD).div_ceil(blocks.tasks());
        if threads == 1 || panels < columns {
            return ProductBlocks::new(rows, panels, touched, threads);
        }
        ProductBlocks {
            rows: blocks,
            panels: Split::at_most(panels, panels.div_ceil(columns)),
        }
    }

    pub(super) fn tasks(self) -> usize {
        self.rows.tasks() * self.panels.tasks()
    }

    /// Returns the rows and panels of block `task`.
    pub(super) fn ranges(self, task: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = (task / self.panels.tasks(), task % self.panels.tasks());
        (self.rows.range(row), self.panels.range(column))
    }
}

/// Returns into how many blocks of [`LEAST_ROWS`] rows or more to divide `rows`, such that ranges
/// of panels can make `wanted` of them, as many for each thread.
fn even_blocks(rows: usize, wanted: usize) -> usize {
    let mut divisors = (1..=wanted).rev().filter(|n| wanted.is_multiple_of(*n));
    divisors.find(|n| n * LEAST_ROWS <= rows).unwrap_or(1)
}

/// Returns the most rows of a block, for any number of rows and threads.
pub(super) fn most_rows(touched: usize) -> usize {
    (BLOCK_FLOATS / touched.max(1)).clamp(LEAST_ROWS, MOST_ROWS)
}

#[cfg(test)]
#[path = "../../../../tests/runtime/units/compute/kernels/task.rs"]
mod tests;
