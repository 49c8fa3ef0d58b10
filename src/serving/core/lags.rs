//! How long samples take to a member's answer, kept for each worker and each member.

use std::time::Duration;

use crate::metrics::{Bucket, LatencySplit, LatencySummary, LogHistogram, SplitMeans, SplitTally};
use crate::serving::batch::Batch;

use super::Stamps;

/// Latencies of samples from their arrival to the end of their batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Lags {
    histogram: LogHistogram,
    split: SplitTally,
}

/// What is shown of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LagStats {
    pub summary: LatencySummary,
    pub buckets: Vec<Bucket>,
    pub split: SplitMeans,
    /// Share that took longer than asked about.
    pub above: Option<f64>,
}

/// Bars for each doubling.
const BARS_PER_OCTAVE: u32 = 4;

impl Lags {
    /// What is shown; `above` is the share that took longer than `limit`.
    pub fn stats(&self, limit: Option<Duration>) -> LagStats {
        LagStats {
            summary: self.histogram.summary(),
            buckets: self.histogram.buckets(BARS_PER_OCTAVE),
            split: self.split.means(),
            above: limit.and_then(|l| self.histogram.share_above(l.as_micros() as u64)),
        }
    }
}

/// Records a batch that ended at `now`. A batch may have many ranges, so each costs a
/// subtraction and a counter; where the time went is worked out once, for their mean.
pub(super) fn record<T>(now: Duration, batch: &Batch<T>, stamps: &Stamps, into: [&mut Lags; 2]) {
    let [worker, member] = into;
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
            worker.histogram.record(lag, run);
            member.histogram.record(lag, run);
            waited += run * started.saturating_sub(micros(from));
        }
        run = len;
    }
    let Some(from) = from else { return };
    let lag = end.saturating_sub(micros(from));
    worker.histogram.record(lag, run);
    member.histogram.record(lag, run);
    waited += run * started.saturating_sub(micros(from));
    let samples = batch.samples.max(1) as u64;
    let split = split(now, batch, stamps, Duration::from_micros(waited / samples));
    worker.split.add_times(split, samples);
    member.split.add_times(split, samples);
}

/// Where the time of a sample went that waited as long as the batch's did on average.
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
