//! The latest spans within a limit of bytes, in the order of their arrival.
//!
//! A span takes 56 bytes, half of the engine's own type. A chunk holds 1 024 spans, so it takes 57
//! 344 bytes and a few words. Five minutes at 2 000 spans per second are 600 000 spans: 586 chunks,
//! 32.1 MiB. Up to 48 MiB (898 000 spans) all spans are kept: seven and a half minutes at that
//! rate, more than an hour at a tenth of it. Beyond that, five minutes are kept, up to 128 MiB,
//! which suffices for 8 000 spans per second. At higher rates less than five minutes are kept.
//!
//! Chunks know the times they cover, so reading a part of time touches only its chunks. A cloned
//! history shares them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use divisi_model::trace::{Span, SpanKind, StepPlace};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

/// Spans in a chunk.
const CHUNK: usize = 1024;
/// Beyond the first limit only young spans are kept; the second limit is never exceeded.
const ENOUGH_BYTES: usize = 48 << 20;
const MOST_BYTES: usize = 128 << 20;
const ENOUGH_CHUNKS: usize = ENOUGH_BYTES / (CHUNK * size_of::<PackedSpan>());
const MOST_CHUNKS: usize = MOST_BYTES / (CHUNK * size_of::<PackedSpan>());
/// The age of young spans in nanoseconds: five minutes, and a margin for late ones.
const YOUNG: u64 = 305_000_000_000;

#[derive(Clone, Debug)]
struct Chunk {
    spans: Vec<PackedSpan>,
    /// The earliest start and the latest end.
    from: u64,
    until: u64,
}

impl Chunk {
    fn new() -> Self {
        Chunk {
            spans: Vec::with_capacity(CHUNK),
            from: u64::MAX,
            until: 0,
        }
    }
}

/// Spans by their numbers, counted from 0 since the start.
#[derive(Clone, Debug, Default)]
pub struct SpanHistory {
    /// The chunks, all full except the last.
    chunks: VecDeque<Arc<Chunk>>,
    /// The number of the first kept span, which is also the number of dropped ones.
    first: u64,
    /// The latest end of the dropped spans.
    gone_until: Option<u64>,
}

impl SpanHistory {
    /// Adds a span; the oldest ones are dropped if needed.
    pub fn push(&mut self, span: PackedSpan) {
        let full = self.chunks.back().is_none_or(|c| c.spans.len() == CHUNK);
        if full {
            self.make_room();
            self.chunks.push_back(Arc::new(Chunk::new()));
        }
        if let Some(last) = self.chunks.back_mut() {
            let last = Arc::make_mut(last);
            last.from = last.from.min(span.start);
            last.until = last.until.max(span.end);
            last.spans.push(span);
        }
    }

    /// Updates the column of every span after a change of columns.
    pub fn renumber(&mut self, columns: &[Option<usize>]) {
        for chunk in &mut self.chunks {
            let spans = Arc::make_mut(chunk).spans.iter_mut();
            spans.for_each(|span| span.renumber(columns));
        }
    }

    fn make_room(&mut self) {
        while self.is_full()
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.first += oldest.spans.len() as u64;
            self.gone_until = self.gone_until.max(Some(oldest.until));
        }
    }

    fn is_full(&self) -> bool {
        let (Some(oldest), Some(newest)) = (self.chunks.front(), self.chunks.back()) else {
            return false;
        };
        let old = oldest.until.saturating_add(YOUNG) < newest.until;
        self.chunks.len() >= MOST_CHUNKS || (self.chunks.len() >= ENOUGH_CHUNKS && old)
    }

    /// Returns the number of dropped spans.
    pub fn gone(&self) -> u64 {
        self.first
    }

    /// Returns the time since which no spans are missing, if some were dropped.
    pub fn whole_since(&self) -> Option<Duration> {
        self.gone_until.map(Duration::from_nanos)
    }

    /// Returns the earliest time of the kept spans.
    pub fn earliest(&self) -> Option<Duration> {
        let earliest = self.chunks.iter().map(|c| c.from).min();
        earliest.map(Duration::from_nanos)
    }

    /// Returns the number of the next span.
    pub fn next(&self) -> u64 {
        let last = self.chunks.back().map_or(0, |c| c.spans.len());
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        self.first + (full + last) as u64
    }

    /// Returns the allocated bytes.
    pub fn bytes(&self) -> usize {
        let of = |c: &Arc<Chunk>| c.spans.capacity() * size_of::<PackedSpan>() + size_of::<Chunk>();
        let chunks: usize = self.chunks.iter().map(of).sum();
        chunks + self.chunks.capacity() * size_of::<Arc<Chunk>>()
    }

    /// Returns the spans numbered from `number` on.
    pub fn from(&self, number: u64) -> impl DoubleEndedIterator<Item = (u64, &PackedSpan)> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let chunk = (skipped / CHUNK).min(self.chunks.len());
        let offset = skipped - chunk * CHUNK;
        let chunks = self.chunks.range(chunk..).enumerate();
        chunks.flat_map(move |(i, c)| {
            let skip = if i == 0 { offset.min(c.spans.len()) } else { 0 };
            let base = self.first + ((chunk + i) * CHUNK + skip) as u64;
            let spans = c.spans[skip..].iter().enumerate();
            spans.map(move |(j, span)| (base + j as u64, span))
        })
    }

    /// Returns the spans numbered below `number`, the latest first.
    pub fn before(&self, number: u64) -> impl Iterator<Item = (u64, &PackedSpan)> {
        let count = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let chunks = (count.div_ceil(CHUNK)).min(self.chunks.len());
        let numbered = self.chunks.range(..chunks).enumerate().rev();
        numbered.flat_map(move |(i, c)| {
            let base = i * CHUNK;
            let here = &c.spans[..count.saturating_sub(base).min(c.spans.len())];
            let spans = here.iter().enumerate().rev();
            spans.map(move |(j, span)| (self.first + (base + j) as u64, span))
        })
    }

    /// Returns the spans that overlap a part of time, in the order of their arrival.
    pub fn within(
        &self,
        from: Duration,
        until: Duration,
    ) -> impl Iterator<Item = (u64, &PackedSpan)> {
        let (from, until) = (nanos(from), nanos(until));
        let chunks = self.chunks.iter().enumerate();
        let met = chunks.filter(move |(_, c)| c.until >= from && c.from < until);
        met.flat_map(move |(i, c)| {
            let base = self.first + (i * CHUNK) as u64;
            let spans = c.spans.iter().enumerate();
            spans.map(move |(j, span)| (base + j as u64, span))
        })
        .filter(move |(_, s)| s.end >= from && s.start < until)
    }
}

/// The value for no batch, such as of a copy ahead.
const NO_BATCH: u64 = u64::MAX;

/// The value for no entry of a catalogue, such as of a copy ahead.
const NO_ENTRY: u16 = u16::MAX;

/// The value for a column that no longer exists.
const GONE: u16 = u16::MAX;

/// The kinds, by their stored numbers.
const KINDS: [SpanKind; 6] = [
    SpanKind::Wait,
    SpanKind::CopyIn,
    SpanKind::CopyAhead,
    SpanKind::Compute,
    SpanKind::CopyOut,
    SpanKind::Send,
];

/// A span, and whether its batch is every other one of its lane. Times are nanoseconds since the
/// engine's start.
#[derive(Clone, Copy, Debug)]
pub struct PackedSpan {
    pub start: u64,
    pub end: u64,
    batch: u64,
    request: u64,
    samples: u32,
    requests: u32,
    batch_size: u32,
    device: u16,
    member: u16,
    lane: u16,
    entry: u16,
    step: u16,
    kind: u8,
    pub other: bool,
}

impl PackedSpan {
    pub fn new(span: &Span, other: bool) -> Self {
        let kind = KINDS.iter().position(|k| *k == span.kind);
        PackedSpan {
            start: nanos(span.start),
            end: nanos(span.end),
            batch: span.batch.unwrap_or(NO_BATCH),
            request: span.request,
            samples: wide(span.samples),
            requests: span.requests,
            batch_size: wide(span.batch_size),
            device: narrow(span.device.get()),
            member: narrow(span.member.get()),
            lane: narrow(span.lane),
            entry: span.of_step.map_or(NO_ENTRY, |of| of.entry),
            step: span.of_step.map_or(0, |of| of.step),
            kind: kind.unwrap_or_default() as u8,
            other,
        }
    }

    fn renumber(&mut self, columns: &[Option<usize>]) {
        let column = columns.get(usize::from(self.member)).copied().flatten();
        self.member = column.map_or(GONE, narrow);
        // Steps are numbered by the models of their engine.
        self.entry = NO_ENTRY;
    }

    pub fn device(&self) -> DeviceIndex {
        DeviceIndex::new(usize::from(self.device))
    }

    pub fn member(&self) -> MemberIndex {
        MemberIndex::new(usize::from(self.member))
    }

    pub fn lane(&self) -> usize {
        usize::from(self.lane)
    }

    pub fn samples(&self) -> usize {
        self.samples as usize
    }

    pub fn kind(&self) -> SpanKind {
        KINDS[usize::from(self.kind).min(KINDS.len() - 1)]
    }

    /// Returns whether it belongs to this request, as far as its first sample shows.
    pub fn is_of_request(&self, request: u64) -> bool {
        self.request == request
    }

    /// Returns whether it belongs to this batch.
    pub fn is_of(&self, batch: u64) -> bool {
        self.batch == batch && batch != NO_BATCH
    }

    pub fn span(&self) -> Span {
        Span {
            device: self.device(),
            member: self.member(),
            batch_size: self.batch_size as usize,
            lane: self.lane(),
            kind: self.kind(),
            start: Duration::from_nanos(self.start),
            end: Duration::from_nanos(self.end),
            samples: self.samples(),
            batch: (self.batch != NO_BATCH).then_some(self.batch),
            request: self.request,
            requests: self.requests,
            of_step: (self.entry != NO_ENTRY).then_some(StepPlace {
                entry: self.entry,
                step: self.step,
            }),
        }
    }
}

/// Converts to nanoseconds, up to 584 years.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn wide(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn narrow(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
