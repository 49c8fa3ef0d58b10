//! A span in 56 bytes: half of what the engine's own type takes.

use std::time::Duration;

use divisi::trace::{Span, SpanKind};

/// No batch: a copy ahead has none.
const NO_BATCH: u64 = u64::MAX;

/// Kinds by the number that stands for them.
const KINDS: [SpanKind; 6] = [
    SpanKind::Wait,
    SpanKind::CopyIn,
    SpanKind::CopyAhead,
    SpanKind::Compute,
    SpanKind::CopyOut,
    SpanKind::Send,
];

/// A span, and whether its batch is every other one of its lane. Times are nanoseconds
/// since the engine's start.
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
            device: narrow(span.device),
            member: narrow(span.member),
            lane: narrow(span.lane),
            kind: kind.unwrap_or_default() as u8,
            other,
        }
    }

    pub fn device(&self) -> usize {
        usize::from(self.device)
    }

    pub fn member(&self) -> usize {
        usize::from(self.member)
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

    /// Of this batch.
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
        }
    }
}

/// Nanoseconds; 584 years are as long as any.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn wide(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn narrow(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
