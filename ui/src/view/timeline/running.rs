//! Batches in execution, painted over the finished spans of a canvas.
//!
//! A span is recorded when its batch ends. Without the running batches, a device would look idle
//! since its last finished batch, however busy it is.

use divisi_runtime::device::MemberIndex;

use super::canvas::{Leader, Union, column};
use super::grid::{TimeWindow, TimelineRows};
use super::history::PackedSpan;

/// The computation of running batches in one cell of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningCell {
    /// The covered share of the cell.
    pub part: f32,
    /// Whether the batch is already longer than a cell.
    pub whole: bool,
    /// Whether it is every other batch of its lane.
    pub other: bool,
}

/// The cells of all running batches.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningCover {
    lanes: Vec<RunningCell>,
    shares: Vec<f32>,
    leaders: Vec<Leader>,
}

impl RunningCover {
    /// Paints running batches. `unions` holds the finished time of each sum, which is not counted
    /// twice.
    pub(super) fn painted(
        spans: &[PackedSpan],
        rows: &TimelineRows,
        window: TimeWindow,
        unions: &[Union],
    ) -> Self {
        if spans.is_empty() {
            return RunningCover::default();
        }
        let mut cover = RunningCover {
            lanes: vec![RunningCell::default(); rows.lanes() * window.cells],
            shares: vec![0.0; rows.sums() * window.cells],
            leaders: vec![Leader::default(); rows.sums() * window.cells],
        };
        let mut unions = unions.to_vec();
        let met = spans.iter().filter(|s| window.meets(s.start, s.end));
        for span in met {
            cover.add_lane(span, rows, window);
            cover.add_sum(span, rows, window, &mut unions);
        }
        cover
    }

    fn add_lane(&mut self, span: &PackedSpan, rows: &TimelineRows, window: TimeWindow) {
        let place = rows.lane(span.kind(), span.device(), span.member(), span.lane());
        let Some(row) = place else {
            return;
        };
        let whole = span.end - span.start >= window.cell;
        window.cover(span.start, span.end, |cell, part| {
            let at = row * window.cells + column(cell, window.cells);
            let cell = &mut self.lanes[at];
            (cell.part, cell.whole, cell.other) = (cell.part + part, whole, span.other);
        });
    }

    fn add_sum(
        &mut self,
        span: &PackedSpan,
        rows: &TimelineRows,
        window: TimeWindow,
        unions: &mut [Union],
    ) {
        let Some(row) = rows.summed(span.kind(), span.device()) else {
            return;
        };
        let (shares, leaders) = (&mut self.shares, &mut self.leaders);
        unions[row].add(span.start, span.end, |from, to| {
            window.cover(from, to, |cell, part| {
                let at = row * window.cells + column(cell, window.cells);
                shares[at] += part;
                leaders[at].vote(span.member(), part);
            });
        });
    }

    /// Returns the cell at a place of the lanes' rows.
    pub(super) fn lane(&self, at: usize) -> RunningCell {
        self.lanes.get(at).copied().unwrap_or_default()
    }

    /// Returns the member that leads in a cell of the sums' rows, or `None` without running batches.
    pub(super) fn leader(&self, at: usize) -> Option<MemberIndex> {
        self.leaders.get(at).map(|leader| leader.member())
    }

    /// Returns the share of the cell at a place of the sums' rows.
    pub(super) fn share(&self, at: usize) -> f32 {
        self.shares.get(at).copied().unwrap_or_default()
    }
}
