//! What workers did lately: a bounded history of spans, and spans as cells.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use divisi::trace::{Span, SpanKind};

/// Spans older than this against the newest are forgotten.
const HISTORY: Duration = Duration::from_secs(30);
/// More spans than this are never kept.
const MOST: usize = 20_000;
/// The latest spans, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    spans: VecDeque<Kept>,
    parity: HashMap<(usize, usize), bool>,
}

/// A span, and whether its batch is every other one of its worker.
#[derive(Clone, Copy, Debug)]
struct Kept {
    span: Span,
    other: bool,
}

/// One cell of a worker's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// What the worker did for most of the cell.
    pub kind: Option<SpanKind>,
    /// Of every other batch.
    pub other: bool,
    /// A character of the batch's number of samples.
    pub digit: Option<char>,
}

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

    fn until(&self) -> Duration {
        self.from + self.cell * u32::try_from(self.cells).unwrap_or(u32::MAX)
    }

    /// Cells from the window's start, with fractions, cut to the window.
    fn place(&self, at: Duration) -> f64 {
        let cells = at.saturating_sub(self.from).as_secs_f64() / self.cell.as_secs_f64();
        cells.min(self.cells as f64)
    }
}

/// Where a row of the picture is, by device and member.
pub type Rows = HashMap<(usize, usize), usize>;

impl Timeline {
    /// Adds spans, and forgets those that are too old or too many.
    pub fn extend(&mut self, spans: impl IntoIterator<Item = Span>) {
        for span in spans {
            let parity = self.parity.entry((span.device, span.member)).or_default();
            if span.kind == SpanKind::Compute {
                *parity = !*parity;
            }
            let other = *parity;
            self.spans.push_back(Kept { span, other });
        }
        let newest = self.newest().unwrap_or_default();
        while let Some(oldest) = self.spans.front() {
            if self.spans.len() <= MOST && oldest.span.end + HISTORY >= newest {
                break;
            }
            self.spans.pop_front();
        }
    }

    /// The end of the newest span.
    pub fn newest(&self) -> Option<Duration> {
        self.spans.back().map(|k| k.span.end)
    }

    /// How many spans are kept.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The rows of workers as cells, one list of `window.cells` a row.
    pub fn raster(&self, rows: &Rows, window: Window) -> Vec<Vec<Mark>> {
        let mut canvas = Canvas::new(rows.values().max().map_or(0, |m| m + 1), window);
        for kept in self.within(window) {
            if let Some(&row) = rows.get(&(kept.span.device, kept.span.member)) {
                canvas.cover(row, kept);
            }
        }
        canvas.marks()
    }

    fn within(&self, window: Window) -> impl Iterator<Item = &Kept> {
        self.spans
            .iter()
            .rev()
            .filter(move |k| k.span.end >= window.from && k.span.start < window.until())
    }
}

/// How much of each cell each kind covers, and the batches to be labelled.
struct Canvas {
    window: Window,
    cover: Vec<[f32; 4]>,
    batches: Vec<(usize, Kept)>,
    rows: usize,
}

impl Canvas {
    fn new(rows: usize, window: Window) -> Self {
        Canvas {
            window,
            cover: vec![[0.0; 4]; rows * window.cells],
            batches: Vec::new(),
            rows,
        }
    }

    fn cover(&mut self, row: usize, kept: &Kept) {
        let span = &kept.span;
        let (from, to) = (self.window.place(span.start), self.window.place(span.end));
        let mut cell = from as usize;
        while cell < self.window.cells && (cell as f64) < to {
            let part = to.min(cell as f64 + 1.0) - from.max(cell as f64);
            self.cover[row * self.window.cells + cell][index(span.kind)] += part as f32;
            cell += 1;
        }
        if span.kind == SpanKind::Compute {
            self.batches.push((row, *kept));
        }
    }

    fn marks(&self) -> Vec<Vec<Mark>> {
        let mut rows: Vec<Vec<Mark>> = (0..self.rows).map(|row| self.row(row)).collect();
        for (row, kept) in &self.batches {
            self.label(&mut rows[*row], kept);
        }
        rows
    }

    fn row(&self, row: usize) -> Vec<Mark> {
        let start = row * self.window.cells;
        let cells = &self.cover[start..start + self.window.cells];
        cells
            .iter()
            .map(|cover| Mark {
                kind: strongest(cover),
                ..Mark::default()
            })
            .collect()
    }

    /// Sets batches apart from each other and writes their size where it fits.
    fn label(&self, row: &mut [Mark], kept: &Kept) {
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
        if first > 0 && row[first - 1].kind != Some(SpanKind::Wait) {
            row[first - 1].kind = Some(SpanKind::CopyIn);
        }
    }
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
