//! The part of time that a picture shows, in cells.

use std::time::Duration;

use super::packed::nanos;

/// A cell is never narrower.
const LEAST_CELL: u64 = 100;

/// The part of time that a row shows. Cells are counted from the engine's start, so a
/// picture that moves does so by whole cells and does not shimmer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The number of the first cell.
    pub first: u64,
    /// Nanoseconds of a cell.
    pub cell: u64,
    /// Cells.
    pub cells: usize,
}

impl Window {
    /// `cells` cells over `length`, the last of which has `end` in it.
    pub fn ending(end: Duration, length: Duration, cells: usize) -> Self {
        let cells = cells.max(1);
        let cell = (nanos(length) / cells as u64).max(LEAST_CELL);
        let first = (nanos(end) / cell).saturating_sub(cells as u64 - 1);
        Window { first, cell, cells }
    }

    /// The number of the cell after the last.
    pub fn last(&self) -> u64 {
        self.first.saturating_add(self.cells as u64)
    }

    /// The start of the first cell.
    pub fn from(&self) -> Duration {
        self.start_of(0)
    }

    /// The end of the last cell.
    pub fn until(&self) -> Duration {
        self.start_of(self.cells)
    }

    /// When a cell starts, counted from the window's first.
    pub fn start_of(&self, cell: usize) -> Duration {
        let number = self.first.saturating_add(cell as u64);
        Duration::from_nanos(number.saturating_mul(self.cell))
    }

    /// The cell that a moment is in, counted from the window's first.
    pub fn cell_of(&self, at: Duration) -> Option<usize> {
        let cell = (nanos(at) / self.cell).checked_sub(self.first)?;
        usize::try_from(cell).ok().filter(|c| *c < self.cells)
    }

    /// Whether it has any of the time between two moments, in nanoseconds.
    pub fn meets(&self, start: u64, end: u64) -> bool {
        start < nanos(self.until()) && end >= nanos(self.from())
    }

    /// Calls `each` with the number of every cell between two moments, counted from the
    /// engine's start, and the share of it between.
    pub fn cover(&self, start: u64, end: u64, mut each: impl FnMut(u64, f32)) {
        let (from, to) = (start / self.cell, end / self.cell);
        let share = |nanos: u64| nanos as f32 / self.cell as f32;
        let inside = self.first..self.last();
        if from == to {
            if inside.contains(&from) {
                each(from, share(end - start));
            }
            return;
        }
        if inside.contains(&from) {
            each(from, 1.0 - share(start % self.cell));
        }
        for cell in (from + 1).max(self.first)..to.min(self.last()) {
            each(cell, 1.0);
        }
        if inside.contains(&to) && end % self.cell > 0 {
            each(to, share(end % self.cell));
        }
    }
}
