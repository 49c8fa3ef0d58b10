//! The timeline of workers: a bounded history of spans, and spans as cells.

mod canvas;
mod grid;
mod history;
mod running;

pub(crate) use canvas::{Canvas, CellMark};
pub(crate) use grid::{RowKey, RowSum, TimeWindow, TimelineRows};

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::lit::LitRequest;
use history::{PackedSpan, SpanHistory};

/// The distance in spans within which the others of a batch are searched. They arrive in one
/// reading of the engine, in the order of their ends.
const NEAR: u64 = 8192;

/// The number of the latest spans that may be newer than the list of running batches.
const LATEST: usize = 512;

/// The latest spans.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    history: SpanHistory,
    parity: HashMap<(DeviceIndex, MemberIndex, usize), bool>,
    newest: Option<Duration>,
    /// The last painting, which the next one continues. It saves work and does not change the
    /// picture.
    canvas: RefCell<Canvas>,
}

impl Timeline {
    /// Adds spans; the oldest ones are dropped if needed.
    pub fn extend(&mut self, mut spans: Vec<Span>) {
        // Each device's spans are in order; navigation needs all of them in order.
        spans.sort_by_key(|s| s.end);
        for span in &spans {
            let other = self.other(span);
            self.newest = self.newest.max(Some(span.end));
            self.history.push(PackedSpan::new(span, other));
        }
    }

    /// Returns whether a batch is every other one of its lane.
    fn other(&mut self, span: &Span) -> bool {
        if span.kind != SpanKind::Compute {
            return false;
        }
        let lane = (span.device, span.member, span.lane);
        let parity = self.parity.entry(lane).or_default();
        *parity = !*parity;
        *parity
    }

    /// Updates the columns of spans after a change of columns. Spans of removed columns are in no
    /// row.
    pub fn renumber(&mut self, columns: &[Option<usize>]) {
        self.history.renumber(columns);
        self.parity.clear();
        self.canvas.take();
    }

    /// Returns the end of the newest span.
    pub fn newest(&self) -> Option<Duration> {
        self.newest
    }

    /// Returns the earliest known time.
    pub fn earliest(&self) -> Option<Duration> {
        self.history.earliest()
    }

    /// Returns the number of dropped spans.
    pub fn crowded_out(&self) -> u64 {
        self.history.gone()
    }

    /// Returns the time since which no spans are missing, if some were dropped.
    pub fn whole_since(&self) -> Option<Duration> {
        self.history.whole_since()
    }

    /// Returns the bytes of the spans.
    pub fn bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Returns the picture of a window at `now`, with the batches `under_way`.
    pub fn picture(
        &self,
        rows: &TimelineRows,
        window: TimeWindow,
        under_way: &[Span],
        now: Duration,
    ) -> Ref<'_, Canvas> {
        let mut kept = self.canvas.borrow_mut();
        if !kept.follow(&self.history, rows, window) {
            *kept = Canvas::painted(&self.history, rows, window);
        }
        kept.show_running(&self.running(under_way, now));
        drop(kept);
        self.canvas.borrow()
    }

    /// Returns the batches that still run, up to `now`. Spans arrive more often than lists of
    /// running batches, so the batches that have ended since are left out.
    fn running(&self, under_way: &[Span], now: Duration) -> Vec<PackedSpan> {
        let live = under_way.iter().filter(|span| !self.has_ended(span));
        live.map(|span| {
            let lane = (span.device, span.member, span.lane);
            let other = !self.parity.get(&lane).copied().unwrap_or_default();
            let end = now.max(span.start);
            PackedSpan::new(&Span { end, ..*span }, other)
        })
        .collect()
    }

    /// Returns whether the latest spans include the end of a running batch.
    fn has_ended(&self, running: &Span) -> bool {
        let batch = running.batch.unwrap_or(u64::MAX);
        let mut latest = self.history.before(self.history.next()).take(LATEST);
        latest.any(|(_, span)| span.is_of(batch))
    }

    /// Returns the spans that overlap a part of time, with their numbers.
    pub fn within(&self, from: Duration, until: Duration) -> impl Iterator<Item = (u64, Span)> {
        let met = self.history.within(from, until);
        met.map(|(number, span)| (number, span.span()))
    }

    /// Returns the spans of a request within a part of time: of its known batches, and of those that
    /// begin with its samples.
    pub fn of_request(
        &self,
        request: LitRequest,
        from: Duration,
        until: Duration,
    ) -> impl Iterator<Item = Span> {
        let met = self.history.within(from, until);
        let of_request = met.filter(move |(_, span)| {
            let is_known = |batch: &u64| span.is_of(*batch);
            span.is_of_request(request.number) || request.batches.iter().any(is_known)
        });
        of_request.map(|(_, span)| span.span())
    }

    /// Returns the next span after `number` that matches.
    pub fn next(&self, number: u64, wanted: impl Fn(&Span) -> bool) -> Option<(u64, Span)> {
        let spans = self.history.from(number.saturating_add(1));
        spans.map(|(n, s)| (n, s.span())).find(|(_, s)| wanted(s))
    }

    /// Returns the last span before `number` that matches.
    pub fn previous(&self, number: u64, wanted: impl Fn(&Span) -> bool) -> Option<(u64, Span)> {
        let spans = self.history.before(number);
        spans.map(|(n, s)| (n, s.span())).find(|(_, s)| wanted(s))
    }

    /// Returns the known steps of the batch of a span.
    pub fn batch_of(&self, number: u64, span: &Span) -> Vec<Span> {
        let Some(batch) = span.batch else {
            return vec![*span];
        };
        let near = self.history.from(number.saturating_sub(NEAR));
        let near = near.take_while(|(n, _)| *n <= number + NEAR);
        let mut steps: Vec<Span> = near
            .filter(|(_, s)| s.is_of(batch))
            .map(|(_, s)| s.span())
            .collect();
        steps.sort_by_key(|s| s.start);
        steps
    }
}
