//! A batch of spans. Numbers are relative to the previous span, so that most take one byte.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use divisi_model::trace::{Span, SpanKind, StepPlace};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::WireError;

/// Spans, and the number lost since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanBatch {
    /// Spans lost since the start.
    pub lost: u64,
    packed: Vec<Packed>,
}

/// A span; signed numbers are relative to the previous span.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Packed {
    kind: SpanKind,
    device: u32,
    member: u32,
    lane: u32,
    batch_size: u32,
    samples: u32,
    requests: u32,
    /// Nanoseconds.
    start: i64,
    length: u64,
    batch: Option<i64>,
    request: i64,
    of_step: Option<StepPlace>,
}

/// The values that the next span is encoded relative to.
#[derive(Clone, Copy, Default)]
struct Before {
    start: u64,
    batch: u64,
    request: u64,
}

impl SpanBatch {
    /// Packs `spans` into a batch.
    pub fn pack(spans: &[Span], lost: u64) -> Self {
        let mut before = Before::default();
        let packed = spans.iter().map(|span| before.pack(span)).collect();
        SpanBatch { lost, packed }
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns whether there are no spans.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Adds its spans to `into`.
    ///
    /// # Errors
    /// Returns an error if a span ends out of range.
    pub fn unpack(&self, into: &mut Vec<Span>) -> Result<(), WireError> {
        let mut before = Before::default();
        for packed in &self.packed {
            let span = before.unpack(packed);
            into.push(span.ok_or_else(|| WireError::Damaged("a span without an end".into()))?);
        }
        Ok(())
    }
}

impl Before {
    fn pack(&mut self, span: &Span) -> Packed {
        let batch = span.batch.map(|b| step(&mut self.batch, b));
        Packed {
            kind: span.kind,
            device: narrow(span.device.get()),
            member: narrow(span.member.get()),
            lane: narrow(span.lane),
            batch_size: narrow(span.batch_size),
            samples: narrow(span.samples),
            requests: span.requests,
            start: step(&mut self.start, nanos(span.start)),
            length: nanos(span.end.saturating_sub(span.start)),
            batch,
            request: step(&mut self.request, span.request),
            of_step: span.of_step,
        }
    }

    fn unpack(&mut self, packed: &Packed) -> Option<Span> {
        let start = walk(&mut self.start, packed.start);
        Some(Span {
            device: DeviceIndex::new(packed.device as usize),
            member: MemberIndex::new(packed.member as usize),
            batch_size: packed.batch_size as usize,
            lane: packed.lane as usize,
            kind: packed.kind,
            start: Duration::from_nanos(start),
            end: Duration::from_nanos(start.checked_add(packed.length)?),
            samples: packed.samples as usize,
            batch: packed.batch.map(|b| walk(&mut self.batch, b)),
            request: walk(&mut self.request, packed.request),
            requests: packed.requests,
            of_step: packed.of_step,
        })
    }
}

/// Returns the difference from `at` to `to` and sets `at` to `to`. It wraps, so that any two
/// numbers have a difference.
fn step(at: &mut u64, to: u64) -> i64 {
    to.wrapping_sub(std::mem::replace(at, to)).cast_signed()
}

fn walk(at: &mut u64, way: i64) -> u64 {
    *at = at.wrapping_add_signed(way);
    *at
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
