//! How a step's work is divided into tasks.

use std::ops::Range;

use super::call::PlacedStep;

/// `total` things in even tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    total: usize,
    tasks: usize,
}

/// Tasks for each thread where a step has enough to do: a thread that is held up leaves
/// the rest to others.
const TASKS_A_THREAD: usize = 4;

/// Floats that are worth a task.
const GRAIN: usize = 4 * 1024;

impl Split {
    /// Tasks of at least `grain` things each, for `threads`.
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

    /// Tasks of at most `most` things each.
    pub(super) fn at_most(total: usize, most: usize) -> Self {
        Split {
            total,
            tasks: total.div_ceil(most.max(1)).max(1),
        }
    }

    pub(super) fn tasks(self) -> usize {
        self.tasks
    }

    /// What task `task` has.
    pub(super) fn range(self, task: usize) -> Range<usize> {
        task * self.total / self.tasks..(task + 1) * self.total / self.tasks
    }
}

/// A step's output pixels, over all samples.
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

/// Floats of input that a block reads again for every panel: half of a common second-level
/// cache.
const BLOCK_FLOATS: usize = 64 * 1024;

/// Rows of a block, whatever they read: enough that a panel is used while it is in cache.
const LEAST_ROWS: usize = 24;
const MOST_ROWS: usize = 1024;

/// Blocks for each thread that even out what one takes longer than another.
const BLOCKS_A_THREAD: usize = 4;

impl ProductBlocks {
    /// For `rows` that each bring `touched` floats into cache.
    pub(super) fn new(rows: usize, panels: usize, touched: usize, threads: usize) -> Self {
        let mut most = most_rows(touched);
        if threads > 1 {
            let even = rows.div_ceil(threads * BLOCKS_A_THREAD);
            most = most.min(even.max(LEAST_ROWS));
        }
        let rows = Split::at_most(rows, most);
        let wanted = if threads > 1 {
            threads * BLOCKS_A_THREAD
        } else {
            1
        };
        let columns = wanted.div_ceil(rows.tasks());
        ProductBlocks {
            rows,
            panels: Split::at_most(panels, panels.div_ceil(columns)),
        }
    }

    pub(super) fn tasks(self) -> usize {
        self.rows.tasks() * self.panels.tasks()
    }

    /// The rows and panels of block `task`.
    pub(super) fn of(self, task: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = (task / self.panels.tasks(), task % self.panels.tasks());
        (self.rows.range(row), self.panels.range(column))
    }
}

/// Most rows of a block, whatever their number and that of threads.
pub(super) fn most_rows(touched: usize) -> usize {
    (BLOCK_FLOATS / touched.max(1)).clamp(LEAST_ROWS, MOST_ROWS)
}
