//! The part of time that a picture shows, in cells.

use std::time::Duration;

/// The part of time that a row shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Start of the first cell.
    pub from: Duration,
    /// Width of one cell.
    pub cell: Duration,
    /// Cells.
    pub cells: usize,
}

impl Window {
    /// `cells` cells over `length` that end at `end`, aligned to cells: the picture
    /// then moves by whole cells and does not shimmer.
    pub fn ending(end: Duration, length: Duration, cells: usize) -> Self {
        let cells = cells.max(1);
        let cell =
            (length / u32::try_from(cells).unwrap_or(u32::MAX)).max(Duration::from_micros(1));
        let last = end.as_nanos() / cell.as_nanos();
        let first = last.saturating_sub(cells as u128 - 1);
        let nanos = u64::try_from(first * cell.as_nanos()).unwrap_or(u64::MAX);
        Window {
            from: Duration::from_nanos(nanos),
            cell,
            cells,
        }
    }

    /// The end of the last cell.
    pub fn until(&self) -> Duration {
        self.from + self.cell * u32::try_from(self.cells).unwrap_or(u32::MAX)
    }

    /// Cells from the window's start, with fractions, cut to the window.
    pub fn place(&self, at: Duration) -> f64 {
        let cells = at.saturating_sub(self.from).as_secs_f64() / self.cell.as_secs_f64();
        cells.min(self.cells as f64)
    }

    /// Calls `each` with every cell between two moments, and the share of it between.
    pub fn cover(&self, start: Duration, end: Duration, mut each: impl FnMut(usize, f64)) {
        let (from, to) = (self.place(start), self.place(end));
        let mut cell = from as usize;
        while cell < self.cells && (cell as f64) < to {
            each(cell, to.min(cell as f64 + 1.0) - from.max(cell as f64));
            cell += 1;
        }
    }
}
