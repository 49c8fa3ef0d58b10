//! The timing of batches, and the figures derived from it: the drawn spans, the latency of a
//! request from its last batch, and the latency of samples until a member's answer, by worker and
//! by member.

use std::time::Duration;

use crate::serving::batch::{Batch, PipelineIndex, Placed, Range, Transfer};
use divisi_model::dataflow::StepIndex;
use divisi_model::metrics::{LatencySplit, LatencyTally};
use divisi_model::trace::{Span, SpanKind, StepPlace};

/// The times of a batch's phases, by the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the batch left the queue.
    pub started: Duration,
    /// When its samples were on the device and computing began.
    pub copied: Duration,
    /// When computing ended.
    pub computed: Duration,
    /// When its answers were back in host memory.
    pub returned: Duration,
    /// The time of the whole device that the batch took.
    pub busy: Duration,
    /// The expected undisturbed computing time, or `None` without a profile.
    pub expected: Option<Duration>,
}

/// Returns the spans of a batch until it was folded, at `end`. Omits phases without duration.
pub fn batch_spans<T>(
    batch: &Batch<T>,
    stamps: &Stamps,
    end: Duration,
) -> impl Iterator<Item = Span> + use<T> {
    let (request, requests) = requests(batch.ranges.iter().map(|placed| &placed.range));
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
        of_step: Some(batch.of_step),
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

/// Returns the request of the first sample, and the number of requests. Ranges of one request are
/// neighbours.
pub(super) fn requests<'a>(ranges: impl Iterator<Item = &'a Range> + Clone) -> (u64, u32) {
    let keys = ranges.map(|range| range.request.0);
    let changes = keys.clone().zip(keys.clone().skip(1));
    let changes = changes.filter(|(a, b)| a != b).count();
    match keys.clone().next() {
        Some(first) => (first, changes as u32 + 1),
        None => (0, 0),
    }
}

/// Returns the place of a step in spans.
pub(super) fn step_place(pipeline: PipelineIndex, step: StepIndex) -> StepPlace {
    StepPlace {
        entry: u16::try_from(pipeline.0).unwrap_or(u16::MAX),
        step: step.number(),
    }
}

/// Returns the span of a copy engine, from the request for a copy to its end.
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

/// Records a batch that ended at `now`. A batch may have many ranges, so each costs only a
/// subtraction and a counter. The split of the latency is computed once, for their mean.
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
    let waited = Duration::from_micros(waited / samples);
    let ahead = batch.ranges.first().map(|placed| placed.copied_for);
    let split = split_of(now, batch, stamps, waited, ahead.unwrap_or_default());
    worker.record_split(split, samples);
    member.record_split(split, samples);
}

/// Returns the split of the time of a sample of the batch, from its arrival in the queue `waited`
/// before the start. Its copy took `ahead`. Earlier time belongs to the request.
fn split_of<T>(
    now: Duration,
    batch: &Batch<T>,
    stamps: &Stamps,
    waited: Duration,
    ahead: Duration,
) -> LatencySplit {
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

/// Faster than [`Duration::as_micros`], which computes in 128 bits.
fn micros(time: Duration) -> u64 {
    time.as_secs() * 1_000_000 + u64::from(time.subsec_micros())
}

/// Returns the split of the time of the samples of `placed` from their queueing to `now`, the end
/// of `batch`.
pub(super) fn split<T>(
    now: Duration,
    batch: &Batch<T>,
    placed: &Placed<T>,
    stamps: &Stamps,
) -> LatencySplit {
    let waited = stamps.started.saturating_sub(placed.range.arrived);
    split_of(now, batch, stamps, waited, placed.copied_for)
}
