//! Spans as cells: the activity of each lane, and the share of time in which a device was active.
//!
//! A canvas is kept from frame to frame. Its cells form a ring by their number since the engine's
//! start. When the window moves on, the new cells are cleared and only new spans are painted, at
//! any zoom.

use std::collections::VecDeque;

use divisi_model::trace::SpanKind;
use divisi_runtime::device::MemberIndex;

use super::grid::{TimeWindow, TimelineRows};
use super::history::{PackedSpan, SpanHistory, nanos};
use super::running::{RunningCell, RunningCover};

/// The minimum share of a cell for a step to show in it.
const LEAST: f32 = 0.02;

/// One cell of a lane's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellMark {
    /// The kind of step that covers most of the cell.
    pub kind: Option<SpanKind>,
    /// Whether it belongs to every other batch, which is drawn in another colour.
    pub other: bool,
    /// Eighths of the cell spent computing, if batches are shorter than a cell. Longer batches have
    /// the whole cell.
    pub eighths: Option<u8>,
    /// A character of the batch's number of samples.
    pub digit: Option<char>,
}

/// The share of a cell covered by each kind: wait, copy in, compute, copy out, send.
#[derive(Clone, Copy, Debug, Default)]
struct Cover {
    parts: [f32; 5],
    other: bool,
    /// Whether a batch that is longer than a cell computed here.
    whole: bool,
}

impl Cover {
    /// Returns the cover with the computation of running batches.
    fn with(mut self, running: RunningCell) -> Self {
        if running.part > 0.0 {
            self.parts[COMPUTE] += running.part;
            self.whole |= running.whole;
            self.other = running.other;
        }
        self
    }

    fn eighths(&self) -> Option<u8> {
        let eighths = (self.parts[COMPUTE].min(1.0) * 8.0).ceil() as u8;
        (!self.whole && (1..8).contains(&eighths)).then_some(eighths)
    }
}

/// The member that probably computed most in a cell, by a majority vote in one pass (Boyer and
/// Moore, 1981). It is exact if a member has more than half of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leader {
    member: MemberIndex,
    lead: f32,
}

impl Leader {
    pub(super) fn vote(&mut self, member: MemberIndex, part: f32) {
        if self.member == member {
            self.lead += part;
        } else if self.lead >= part {
            self.lead -= part;
        } else {
            *self = Leader {
                member,
                lead: part - self.lead,
            };
        }
    }

    pub(super) fn member(self) -> MemberIndex {
        self.member
    }
}

/// A batch that is long enough to show its size.
#[derive(Clone, Copy, Debug)]
struct Label {
    row: usize,
    start: u64,
    end: u64,
    samples: usize,
}

/// All rows as cells.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    rows: TimelineRows,
    window: TimeWindow,
    /// The number of the next span to paint.
    seen: u64,
    /// The latest end of a painted span.
    latest: u64,
    cover: Vec<Cover>,
    shares: Vec<f32>,
    /// The member that leads in each cell of the sums.
    leaders: Vec<Leader>,
    unions: Vec<Union>,
    labels: VecDeque<Label>,
    /// Digits of labels, by row and place in the window.
    digits: Vec<u8>,
    /// The last time at which each row copied samples in.
    copied: Vec<u64>,
    running: RunningCover,
}

impl Canvas {
    /// Returns the picture of a window, painted from scratch.
    pub fn painted(history: &SpanHistory, rows: &TimelineRows, window: TimeWindow) -> Self {
        let lanes = rows.lanes() * window.cells;
        let mut canvas = Canvas {
            rows: rows.clone(),
            window,
            seen: history.next(),
            latest: 0,
            cover: vec![Cover::default(); lanes],
            shares: vec![0.0; rows.sums() * window.cells],
            leaders: vec![Leader::default(); rows.sums() * window.cells],
            unions: vec![Union::default(); rows.sums()],
            labels: VecDeque::new(),
            digits: vec![0; lanes],
            copied: vec![0; rows.lanes()],
            running: RunningCover::default(),
        };
        for (_, span) in history.within(window.from(), window.until()) {
            canvas.add(span);
        }
        canvas.write();
        canvas
    }

    /// Moves to the window and paints new spans. Returns false if it has to be painted from
    /// scratch.
    pub fn follow(
        &mut self,
        history: &SpanHistory,
        rows: &TimelineRows,
        window: TimeWindow,
    ) -> bool {
        let like = self.window.cell == window.cell && self.window.cells == window.cells;
        let cut = self.latest > nanos(self.window.until()) && window.first > self.window.first;
        if !like || cut || window.first < self.window.first || self.rows != *rows {
            return false;
        }
        let still = self.window == window && self.seen == history.next();
        self.advance(window);
        let new = history.from(self.seen).map(|(_, span)| span);
        new.for_each(|span| self.add(span));
        self.seen = history.next();
        if !still {
            self.write();
        }
        true
    }

    /// Paints the batches in execution over the finished spans, instead of the last painted ones.
    pub fn show_running(&mut self, spans: &[PackedSpan]) {
        self.running = RunningCover::painted(spans, &self.rows, self.window, &self.unions);
    }

    fn advance(&mut self, window: TimeWindow) {
        let from = self.window.last().max(window.first);
        self.window = window;
        for cell in from..window.last() {
            let column = self.column(cell);
            for row in 0..self.rows.lanes() {
                self.cover[row * window.cells + column] = Cover::default();
            }
            for row in 0..self.rows.sums() {
                self.shares[row * window.cells + column] = 0.0;
                self.leaders[row * window.cells + column] = Leader::default();
            }
        }
        let start = nanos(window.from());
        while self.labels.front().is_some_and(|l| l.end <= start) {
            self.labels.pop_front();
        }
    }

    fn column(&self, cell: i64) -> usize {
        column(cell, self.window.cells)
    }

    fn add(&mut self, span: &PackedSpan) {
        self.latest = self.latest.max(span.end);
        if !self.window.meets(span.start, span.end) {
            return;
        }
        let (window, cells) = (self.window, self.window.cells);
        if let Some(row) = self.rows.summed(span.kind(), span.device()) {
            let start = row * window.cells;
            let (shares, leaders) = (&mut self.shares, &mut self.leaders);
            self.unions[row].add(span.start, span.end, |from, to| {
                window.cover(from, to, |cell, part| {
                    let at = start + column(cell, cells);
                    shares[at] += part;
                    leaders[at].vote(span.member(), part);
                });
            });
        }
        let lane = self
            .rows
            .lane(span.kind(), span.device(), span.member(), span.lane());
        if let Some(row) = lane {
            self.paint(row, span);
        }
    }

    fn paint(&mut self, row: usize, span: &PackedSpan) {
        let Some(kind) = part_of(span.kind()) else {
            return;
        };
        let (window, cells) = (self.window, self.window.cells);
        let (start, cover) = (row * window.cells, &mut self.cover);
        // Shorter batches look like their neighbours.
        let whole = kind == COMPUTE && span.end - span.start >= window.cell;
        window.cover(span.start, span.end, |cell, part| {
            let cover = &mut cover[start + column(cell, cells)];
            cover.parts[kind] += part;
            if whole {
                (cover.other, cover.whole) = (span.other, true);
            }
        });
        if kind == COPY_IN {
            self.copied[row] = self.copied[row].max(span.end);
        }
        if kind == COMPUTE && span.end - span.start >= 3 * window.cell {
            self.labels.push_back(Label {
                row,
                start: span.start,
                end: span.end,
                samples: span.samples(),
            });
        }
    }

    /// Writes the sizes of batches that fit.
    fn write(&mut self) {
        self.digits.fill(0);
        let window = self.window;
        for i in 0..self.labels.len() {
            let label = self.labels[i];
            let first = (label.start.div_ceil(window.cell) as i64).max(window.first);
            let last = ((label.end / window.cell) as i64).min(window.last());
            let room = usize::try_from(last.saturating_sub(first)).unwrap_or(0);
            let digits = label.samples.checked_ilog10().unwrap_or(0) as usize + 1;
            if room < digits + 2 {
                continue;
            }
            let place = label.row * window.cells + (first - window.first) as usize;
            let mut rest = label.samples;
            for digit in self.digits[place + 1..=place + digits].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            self.spare_for_copy(&label, first);
        }
    }

    /// Gives copying in a cell of a long batch, since copying is often shorter than a cell.
    fn spare_for_copy(&mut self, label: &Label, first: i64) {
        let copies = self.copied[label.row] >= nanos(self.window.from());
        if !copies || first <= self.window.first {
            return;
        }
        let at = label.row * self.window.cells + self.column(first - 1);
        let cover = &mut self.cover[at];
        if kind_of(&cover.parts) != Some(SpanKind::Wait) {
            cover.parts[COPY_IN] = 9.0;
        }
    }

    /// Returns a lane's cell, counted from the window's first.
    pub fn mark(&self, row: usize, cell: usize) -> CellMark {
        let start = row * self.window.cells;
        let at = start + self.column(self.window.first + cell as i64);
        let cover = self.cover[at].with(self.running.lane(at));
        let digit = self.digits[start + cell];
        CellMark {
            kind: kind_of(&cover.parts),
            other: cover.other,
            eighths: cover.eighths(),
            digit: (digit > 0).then_some(digit as char),
        }
    }

    /// Returns the share of a sum's cell, counted from the window's first.
    pub fn share(&self, row: usize, cell: usize) -> f64 {
        let column = self.column(self.window.first + cell as i64);
        let at = row * self.window.cells + column;
        let share = self.shares[at] + self.running.share(at);
        f64::from(share.min(1.0))
    }

    /// Returns the member that computed most in a sum's cell, counted from the window's first.
    pub fn leader(&self, row: usize, cell: usize) -> MemberIndex {
        let column = self.column(self.window.first + cell as i64);
        let at = row * self.window.cells + column;
        let running = self.running.leader(at);
        let longer = running.filter(|_| self.running.share(at) > self.shares[at]);
        longer.unwrap_or_else(|| self.leaders[at].member())
    }
}

/// Returns the place of a cell in the ring, by its number.
pub(super) fn column(cell: i64, cells: usize) -> usize {
    cell.rem_euclid(cells as i64) as usize
}

const COPY_IN: usize = 1;
const COMPUTE: usize = 2;

fn part_of(kind: SpanKind) -> Option<usize> {
    match kind {
        SpanKind::Wait => Some(0),
        SpanKind::CopyIn => Some(COPY_IN),
        SpanKind::Compute => Some(COMPUTE),
        SpanKind::CopyOut => Some(3),
        SpanKind::Send => Some(4),
        SpanKind::CopyAhead => None,
    }
}

/// Returns the kind of step to show: work before waiting, since a batch waits while the previous
/// one computes.
fn kind_of(parts: &[f32; 5]) -> Option<SpanKind> {
    let work = [
        (parts[COMPUTE], SpanKind::Compute),
        (parts[COPY_IN], SpanKind::CopyIn),
        (parts[3], SpanKind::CopyOut),
        (parts[4], SpanKind::Send),
    ];
    let (mut most, mut best) = (LEAST, None);
    for (part, kind) in work {
        if part > most {
            (most, best) = (part, Some(kind));
        }
    }
    best.or((parts[0] > LEAST).then_some(SpanKind::Wait))
}

/// The maximum number of remembered intervals. Spans arrive nearly in order, so late ones overlap
/// only the latest.
const MOST: usize = 4096;

/// Disjoint time intervals in order, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Union {
    parts: Vec<(u64, u64)>,
}

impl Union {
    /// Adds an interval and calls `fresh` with its parts that were not covered before.
    pub(super) fn add(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        let after = self.parts.iter().rev().take_while(|p| p.1 >= start).count();
        let at = self.parts.len() - after;
        let met = self.parts[at..].iter().take_while(|p| p.0 <= end).count();
        let (mut from, mut whole) = (start, (start, end));
        for part in &self.parts[at..at + met] {
            if part.0 > from {
                fresh(from, part.0);
            }
            from = from.max(part.1);
            whole = (whole.0.min(part.0), whole.1.max(part.1));
        }
        if from < end {
            fresh(from, end);
        }
        self.parts.splice(at..at + met, [whole]);
        if self.parts.len() > MOST {
            self.parts.drain(..MOST / 2);
        }
    }
}
