//! How a product is cut into blocks that fit in cache and can be shared out.

use std::ops::Range;

use super::super::split::Split;

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
    pub fn new(rows: usize, panels: usize, touched: usize, threads: usize) -> Self {
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

    pub fn tasks(self) -> usize {
        self.rows.tasks() * self.panels.tasks()
    }

    /// The rows and panels of block `task`.
    pub fn of(self, task: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = (task / self.panels.tasks(), task % self.panels.tasks());
        (self.rows.range(row), self.panels.range(column))
    }
}

/// Most rows of a block, whatever their number and that of threads.
pub(super) fn most_rows(touched: usize) -> usize {
    (BLOCK_FLOATS / touched.max(1)).clamp(LEAST_ROWS, MOST_ROWS)
}
