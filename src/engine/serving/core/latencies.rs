//! Where time went: when a batch did what, and what follows of it: the spans that are drawn, the
//! latency of a request from its last batch, and that of samples until a member's answer, kept for
//! each worker and each member.

use std::time::Duration;

use crate::serving::batch::{Batch, Placed, Transfer};
use divisi_model::metrics::{LatencySplit, LatencyTally};
use divisi_model::trace::{Span, SpanKind, StepPlace};

/// When a batch did what; the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// It left the queue.
    pub started: Duration,
    /// Its samples were where it computes, and it began to.
    pub copied: Duration,
    /// It was done computing.
    pub computed: Duration,
    /// Its answers were back in host memory.
    pub returned: Duration,
    /// Time of the whole device that it took.
    pub busy: Duration,
    /// How long computing takes undisturbed, where a profile says so.
    pub expected: Option<Duration>,
}

/// Returns the spans of a batch until it was folded, at `end`; steps that took no time are left out.
pub fn batch_spans<T>(
    batch: &Batch<T>,
    stamps: &Stamps,
    end: Duration,
) -> impl Iterator<Item = Span> + use<T> {
    let (request, requests) = requests(batch);
    let (pipeline, step) = batch.of_step;
    let of_step = Some(StepPlace {
        entry: u16::try_from(pipeline.0).unwrap_or(u16::MAX),
        step: step.number(),
    });
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
        of_step,
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
        of_step: None,
    }
}

/// Records a batch that ended at `now`. A batch may have many ranges, so each costs a
/// subtraction and a counter; where the time went is worked out once, for their mean.
pub(super) fn record<T>(
    now: Duration,
    batch: &Batch<T>,
    stamps: &Stamps,
    into: [&mut LatencyTally; 2],
) {
    let [worker, member] = into.map(|tally| tally.slot(now));
    let end = micros(now);
    let (mut waited, mut from, mut run) = (0, None, 0u64);
    let started = micros(stamps.started);
    for placed in &batch.ranges {
        let (arrived, len) = (placed.range.arrived, placed.range.len as u64);
        if from == Some(arrived) {
            run += len;
            continue;
        }
        if let Some(from) = from.replace(arrived) {
            let lag = end.saturating_sub(micros(from));
            worker.record(lag, run);
            member.record(lag, run);
            waited += run * started.saturating_sub(micros(from));
        }
        run = len;
    }
    let Some(from) = from else { return };
    let lag = end.saturating_sub(micros(from));
    worker.record(lag, run);
    member.record(lag, run);
    waited += run * started.saturating_sub(micros(from));
    let samples = batch.samples.max(1) as u64;
    let split = split_of_batch(now, batch, stamps, Duration::from_micros(waited / samples));
    worker.record_split(split, samples);
    member.record_split(split, samples);
}

/// Where the time of a sample went that waited as long as the batch's did on average,
/// from its arrival in the queue: what went before is the request's.
fn split_of_batch<T>(
    now: Duration,
    batch: &Batch<T>,
    stamps: &Stamps,
    waited: Duration,
) -> LatencySplit {
    let ahead = batch
        .ranges
        .first()
        .map_or(Duration::ZERO, |p| p.copied_for);
    let ahead = ahead.min(waited);
    let idle = batch.held_since;
    let held = idle.map_or(Duration::ZERO, |at| stamps.started.saturating_sub(at));
    let held = held.min(waited - ahead);
    LatencySplit {
        admission: Duration::ZERO,
        queueing: waited - held - ahead,
        batching: held,
        copying: ahead
            + stamps.copied.saturating_sub(stamps.started)
            + stamps.returned.saturating_sub(stamps.computed),
        computing: stamps.computed.saturating_sub(stamps.copied),
        combining: now.saturating_sub(stamps.returned),
    }
}

/// Cheaper than [`Duration::as_micros`], which counts in 128 bits.
fn micros(time: Duration) -> u64 {
    time.as_secs() * 1_000_000 + u64::from(time.subsec_micros())
}

/// Where the time of the samples of `placed` went, from when they were queued to `now`, when `batch`
/// ended.
pub(super) fn split<T>(
    now: Duration,
    batch: &Batch<T>,
    placed: &Placed<T>,
    stamps: &Stamps,
) -> LatencySplit {
    let between = |from: Duration, to: Duration| to.saturating_sub(from);
    let arrived = placed.range.arrived;
    let waited = between(arrived, stamps.started);
    let ahead = placed.copied_for.min(waited);
    let idle = batch.held_since;
    let held = idle.map(|idle| between(arrived.max(idle), stamps.started));
    let held = held.unwrap_or_default().min(waited - ahead);
    LatencySplit {
        admission: Duration::ZERO,
        queueing: waited - held - ahead,
        batching: held,
        copying: ahead
            + between(stamps.started, stamps.copied)
            + between(stamps.computed, stamps.returned),
        computing: between(stamps.copied, stamps.computed),
        combining: between(stamps.returned, now),
    }
}
