//! The grid of a picture: its rows, and the time of its cells.

use std::time::Duration;

use divisi_model::allocation::Cell;
use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::history::nanos;

/// The kind of activity that a device's row sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowSum {
    /// Any lane computed.
    Compute,
    /// Samples were copied to its memory.
    ToDevice,
    /// Answers were copied from its memory.
    FromDevice,
}

impl RowSum {
    /// Returns the sum that includes a step.
    pub fn for_kind(kind: SpanKind) -> Option<Self> {
        match kind {
            SpanKind::Compute => Some(RowSum::Compute),
            SpanKind::CopyIn | SpanKind::CopyAhead => Some(RowSum::ToDevice),
            SpanKind::CopyOut => Some(RowSum::FromDevice),
            SpanKind::Wait | SpanKind::Send => None,
        }
    }
}

/// A row by its subject, independent of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKey {
    /// A worker's lane.
    Lane {
        /// Row of the matrix.
        device: DeviceIndex,
        /// Column of the matrix.
        member: MemberIndex,
        /// Counted from the smallest.
        lane: usize,
    },
    /// A whole device.
    Sum {
        /// Row of the matrix.
        device: DeviceIndex,
        /// The activity summed up.
        sum: RowSum,
    },
}

/// The places of workers' lanes and devices' sums in a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineRows {
    /// The number of members in the matrix.
    members: usize,
    /// The first row and the number of rows, by device and member.
    workers: Vec<Option<(usize, usize)>>,
    /// The rows of sums by device.
    sums: Vec<[Option<usize>; 3]>,
    lanes: usize,
    summed: usize,
}

impl TimelineRows {
    /// Creates a grid without rows for a matrix of this size.
    pub fn new(devices: usize, members: usize) -> Self {
        TimelineRows {
            members,
            workers: vec![None; devices * members],
            sums: vec![[None; 3]; devices],
            ..TimelineRows::default()
        }
    }

    /// Adds rows for the lanes of a worker, at least one, and returns the first.
    pub fn worker(&mut self, device: DeviceIndex, member: MemberIndex, lanes: usize) -> usize {
        let (first, count) = (self.lanes, lanes.max(1));
        if let Some(place) = self
            .workers
            .get_mut(Cell { device, member }.index_in(self.members))
        {
            *place = Some((first, count));
            self.lanes += count;
        }
        first
    }

    /// Adds a row for a sum of a device.
    pub fn sum(&mut self, device: DeviceIndex, sum: RowSum) -> usize {
        let next = self.summed;
        let Some(place) = self.sums.get_mut(device.get()) else {
            return next;
        };
        let at = place[sum as usize].get_or_insert(next);
        self.summed = self.summed.max(*at + 1);
        *at
    }

    /// Returns the number of rows of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Returns the number of rows of sums.
    pub fn sums(&self) -> usize {
        self.summed
    }

    /// Returns the lane's row of a span. Lanes of another policy share the last one. A copy ahead
    /// has no lane yet.
    pub fn lane_of(&self, span: &Span) -> Option<usize> {
        self.lane(span.kind, span.device, span.member, span.lane)
    }

    pub(super) fn lane(
        &self,
        kind: SpanKind,
        device: DeviceIndex,
        member: MemberIndex,
        lane: usize,
    ) -> Option<usize> {
        if kind == SpanKind::CopyAhead || member.get() >= self.members {
            return None;
        }
        let (first, count) = (*self
            .workers
            .get(Cell { device, member }.index_in(self.members))?)?;
        Some(first + lane.min(count - 1))
    }

    /// Returns the sum's row of a span.
    pub fn sum_of(&self, span: &Span) -> Option<usize> {
        self.summed(span.kind, span.device)
    }

    pub(super) fn summed(&self, kind: SpanKind, device: DeviceIndex) -> Option<usize> {
        let sum = RowSum::for_kind(kind)?;
        self.sums.get(device.get())?[sum as usize]
    }
}

/// The minimum time of a cell in nanoseconds.
const LEAST_CELL: u64 = 100;

/// The visible time. Cells are counted from the engine's start, so a picture moves by whole cells
/// and does not flicker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWindow {
    /// The number of the first cell, below zero before the engine's start.
    pub first: i64,
    /// The time of a cell in nanoseconds.
    pub cell: u64,
    /// The number of cells.
    pub cells: usize,
}

impl TimeWindow {
    /// Returns `cells` cells over `length`, the last of which contains `end`.
    pub fn ending(end: Duration, length: Duration, cells: usize) -> Self {
        let cells = cells.max(1);
        let cell = (nanos(length) / cells as u64).max(LEAST_CELL);
        let first = number(nanos(end) / cell).saturating_sub(number(cells as u64 - 1));
        TimeWindow { first, cell, cells }
    }

    /// Returns the number of the cell after the last.
    pub fn last(&self) -> i64 {
        self.first.saturating_add(number(self.cells as u64))
    }

    /// Returns the start of the first cell.
    pub fn from(&self) -> Duration {
        self.start_of(0)
    }

    /// Returns the end of the last cell.
    pub fn until(&self) -> Duration {
        self.start_of(self.cells)
    }

    /// Returns the start of a cell, counted from the window's first, or the engine's start for
    /// earlier cells.
    pub fn start_of(&self, cell: usize) -> Duration {
        let number = self.first.saturating_add(number(cell as u64));
        Duration::from_nanos(self.nanos_of(number))
    }

    /// Returns the start of a cell by its number, in nanoseconds.
    fn nanos_of(&self, number: i64) -> u64 {
        let number = u64::try_from(number).unwrap_or(0);
        number.saturating_mul(self.cell)
    }

    /// Returns the cell of a moment, counted from the window's first.
    pub fn cell_of(&self, at: Duration) -> Option<usize> {
        let cell = number(nanos(at) / self.cell).checked_sub(self.first)?;
        usize::try_from(cell).ok().filter(|c| *c < self.cells)
    }

    /// Returns whether it overlaps the time between two moments, in nanoseconds.
    pub fn meets(&self, start: u64, end: u64) -> bool {
        start < self.nanos_of(self.last()) && end >= self.nanos_of(self.first)
    }

    /// Calls `each` with the number of every cell between two moments, counted from the engine's
    /// start, and its share between them.
    pub fn cover(&self, start: u64, end: u64, mut each: impl FnMut(i64, f32)) {
        let (from, to) = (number(start / self.cell), number(end / self.cell));
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
        if inside.contains(&to) && !end.is_multiple_of(self.cell) {
            each(to, share(end % self.cell));
        }
    }
}

/// Converts a cell's number to a signed one.
fn number(cell: u64) -> i64 {
    i64::try_from(cell).unwrap_or(i64::MAX)
}
