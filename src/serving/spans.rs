//! The spans that a batch or a transfer leaves.

use std::time::Duration;

use crate::trace::{Span, SpanKind};

use super::batch::{Batch, Transfer};
use super::core::Stamps;

/// Returns the spans of a batch until it was folded, at `end`; steps that took no time are left out.
pub fn batch_spans<T>(
    batch: &Batch<T>,
    stamps: &Stamps,
    end: Duration,
) -> impl Iterator<Item = Span> + use<T> {
    let (request, requests) = requests(batch);
    let span = |kind, start, end| Span {
        device: batch.device,
        member: batch.member,
        batch_size: batch.size.get(),
        lane: batch.lane.index,
        kind,
        start,
        end,
        samples: batch.samples,
        batch: Some(batch.id.0),
        request,
        requests,
    };
    [
        span(SpanKind::Wait, batch.oldest, stamps.started),
        span(SpanKind::CopyIn, stamps.started, stamps.copied),
        span(SpanKind::Compute, stamps.copied, stamps.computed),
        span(SpanKind::CopyOut, stamps.computed, stamps.returned),
        span(SpanKind::Send, stamps.returned, end),
    ]
    .into_iter()
    .filter(|span| span.end > span.start)
}

/// The request of the first sample, and how many there are; ranges of one request are
/// neighbours.
fn requests<T>(batch: &Batch<T>) -> (u64, u32) {
    let keys = || batch.ranges.iter().map(|r| r.range.request.0);
    let changes = keys().zip(keys().skip(1)).filter(|(a, b)| a != b);
    let first = keys().next().unwrap_or_default();
    (
        first,
        changes.count() as u32 + u32::from(!batch.ranges.is_empty()),
    )
}

/// Returns the span of a copy engine: from when a copy ahead was asked for to when it was there.
pub fn transfer_span(transfer: &Transfer, asked: Duration, there: Duration) -> Span {
    Span {
        device: transfer.device,
        member: transfer.member,
        batch_size: transfer.samples,
        lane: 0,
        kind: SpanKind::CopyAhead,
        start: asked,
        end: there,
        samples: transfer.samples,
        batch: None,
        request: transfer.part.request.0,
        requests: 1,
    }
}
