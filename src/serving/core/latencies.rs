//! How long samples take to a member's answer, kept for each worker and each member.

use std::time::Duration;

use crate::metrics::{LatencySplit, LatencyTally};
use crate::serving::batch::Batch;

use super::Stamps;

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
    let split = split(now, batch, stamps, Duration::from_micros(waited / samples));
    worker.record_split(split, samples);
    member.record_split(split, samples);
}

/// Where the time of a sample went that waited as long as the batch's did on average,
/// from its arrival in the queue: what went before is the request's.
fn split<T>(now: Duration, batch: &Batch<T>, stamps: &Stamps, waited: Duration) -> LatencySplit {
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
