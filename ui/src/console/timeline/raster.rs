//! Spans as cells: what each lane did, and how much of the time a device did something.

use std::time::Duration;

use divisi::trace::{Span, SpanKind};

use super::Kept;
use super::rows::Rows;
use super::window::Window;

/// One cell of a lane's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// What the lane did for most of the cell.
    pub kind: Option<SpanKind>,
    /// Of every other batch.
    pub other: bool,
    /// A character of the batch's number of samples.
    pub digit: Option<char>,
}

/// All rows as cells, each row `window.cells` long.
#[derive(Clone, Debug, Default)]
pub struct Raster {
    /// Rows of lanes.
    pub lanes: Vec<Vec<Mark>>,
    /// Rows of sums: shares of the cell's time.
    pub sums: Vec<Vec<f64>>,
}

/// How much of each cell each kind covers, and the batches to be labelled.
pub(super) struct Canvas {
    window: Window,
    cover: Vec<[f32; 4]>,
    batches: Vec<(usize, Kept)>,
    /// Whether batches of the row are copied in by itself.
    copies: Vec<bool>,
    /// When each device did something, to be united.
    times: Vec<Vec<(Duration, Duration)>>,
}

impl Canvas {
    pub fn new(rows: &Rows, window: Window) -> Self {
        Canvas {
            window,
            cover: vec![[0.0; 4]; rows.lanes() * window.cells],
            batches: Vec::new(),
            copies: vec![false; rows.lanes()],
            times: vec![Vec::new(); rows.sums()],
        }
    }

    pub fn add(&mut self, rows: &Rows, kept: &Kept) {
        if let Some(row) = rows.sum_of(&kept.span) {
            self.times[row].push((kept.span.start, kept.span.end));
        }
        if let Some(row) = rows.lane_of(&kept.span) {
            self.cover(row, &kept.span);
            if kept.span.kind == SpanKind::Compute {
                self.batches.push((row, *kept));
            }
        }
    }

    fn cover(&mut self, row: usize, span: &Span) {
        let (start, kind) = (row * self.window.cells, index(span.kind));
        let cover = &mut self.cover;
        self.window.cover(span.start, span.end, |cell, part| {
            cover[start + cell][kind] += part as f32;
        });
        self.copies[row] |= span.kind == SpanKind::CopyIn;
    }

    pub fn raster(self) -> Raster {
        let mut lanes: Vec<_> = (0..self.copies.len()).map(|row| self.row(row)).collect();
        for (row, kept) in &self.batches {
            self.label(&mut lanes[*row], kept, self.copies[*row]);
        }
        let window = self.window;
        let sums = self.times.into_iter().map(|t| united(t, window)).collect();
        Raster { lanes, sums }
    }

    fn row(&self, row: usize) -> Vec<Mark> {
        let start = row * self.window.cells;
        let cells = &self.cover[start..start + self.window.cells];
        let mark = |cover| Mark {
            kind: strongest(cover),
            ..Mark::default()
        };
        cells.iter().map(mark).collect()
    }

    /// Sets batches apart from each other and writes their size where it fits.
    fn label(&self, row: &mut [Mark], kept: &Kept, copies: bool) {
        let span = &kept.span;
        let (from, to) = (self.window.place(span.start), self.window.place(span.end));
        let (first, last) = (from.ceil() as usize, (to.floor() as usize).min(row.len()));
        let length = last.saturating_sub(first);
        for mark in row.iter_mut().take(last).skip(from as usize) {
            mark.other = kept.other;
        }
        let digits = span.samples.to_string();
        if length < digits.len() + 2 {
            return;
        }
        for (mark, digit) in row[first + 1..].iter_mut().zip(digits.chars()) {
            mark.digit = Some(digit);
        }
        // Copying in is often shorter than a cell; a long batch can spare one for it.
        if copies && first > 0 && row[first - 1].kind != Some(SpanKind::Wait) {
            row[first - 1].kind = Some(SpanKind::CopyIn);
        }
    }
}

/// The share of each cell that any of the times covers.
fn united(mut times: Vec<(Duration, Duration)>, window: Window) -> Vec<f64> {
    times.sort_unstable();
    let mut cells = vec![0.0; window.cells];
    let mut covered = Duration::ZERO;
    for (start, end) in times {
        let start = start.max(covered);
        if start < end {
            window.cover(start, end, |cell, part| cells[cell] += part);
            covered = end;
        }
    }
    cells
}

fn index(kind: SpanKind) -> usize {
    match kind {
        SpanKind::Wait => 0,
        SpanKind::CopyIn | SpanKind::CopyAhead | SpanKind::CopyOut => 1,
        SpanKind::Compute => 2,
        SpanKind::Send => 3,
    }
}

/// Work before waiting: a batch waits while the one before it computes.
fn strongest(cover: &[f32; 4]) -> Option<SpanKind> {
    let work = [
        (cover[2], SpanKind::Compute),
        (cover[1], SpanKind::CopyIn),
        (cover[3], SpanKind::Send),
    ];
    let mut best = None;
    let mut most = 0.02;
    for (part, kind) in work {
        if part > most {
            (most, best) = (part, Some(kind));
        }
    }
    best.or((cover[0] > 0.02).then_some(SpanKind::Wait))
}
