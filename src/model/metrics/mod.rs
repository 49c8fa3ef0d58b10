//! Rates over time, latency distributions and statistics.
//!
//! [`LatencyTally`] holds a histogram for each of the last ten seconds, and one for the past: what
//! screens call *now* is those ten seconds, or what passed since a reload where that is less. [`Latency`],
//! to three digits, is the ensemble's alone. Each worker and each member has a
//! [`LogHistogram`], 16 counters for each doubling, which is cheap to record. A [`Reading`] holds
//! all that was ever counted and never decreases; the difference of two tells what happened between
//! them, which is how history and probation measure.

mod latency;
mod rate;
pub mod stats;

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use latency::{Bucket, Latency, LatencySummary, LatencyWhole, LogHistogram, ScaledHistogram};
pub use rate::{Growth, RateRing, Reading};

/// The time that *now* means for latencies: those of answers within it, or since the last
/// reload or clearing if that is later.
pub const WINDOW: Duration = Duration::from_secs(SLOTS as u64);

/// The number of slots, one a second; the one that is still filling is among them.
const SLOTS: usize = 10;

/// The number of bars for each doubling.
const BARS_PER_OCTAVE: u32 = 4;

/// The figures of a distribution of latencies, as screens show them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The percentiles.
    pub summary: LatencySummary,
    /// Bars on a logarithmic axis, without the empty ones.
    pub buckets: Vec<Bucket>,
    /// The parts of the mean latency, in microseconds.
    pub split: SplitMeans,
    /// The share that took longer than the target, if one is set.
    pub missed: Option<f64>,
}

/// Recent latencies, and those of a longer time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyView {
    /// Those of the last [`WINDOW`].
    pub now: Distribution,
    /// Those since the last reload or clearing, or the start.
    pub since: Distribution,
}

/// Counts latencies second by second. It has no clock.
///
/// Within the window each second has a distribution of its own, which is added to that of
/// all the time before once the second leaves the window.
#[derive(Clone, Debug, Default)]
pub struct LatencyTally {
    /// Distributions by their second, modulo the number of slots.
    slots: [LatencySlot; SLOTS],
    /// The second that is filling.
    second: u64,
    /// The latencies that left the window.
    past: LatencySlot,
}

/// Latencies of one second.
#[derive(Clone, Debug, Default)]
pub struct LatencySlot {
    histogram: LogHistogram,
    split: SplitTally,
}

impl LatencySlot {
    /// Records a latency in microseconds, `times` times.
    pub fn record(&mut self, micros: u64, times: u64) {
        self.histogram.record(micros, times);
    }

    /// Records the parts of as many latencies.
    pub fn record_split(&mut self, split: LatencySplit, times: u64) {
        match times {
            1 => self.split.record(split),
            times => self.split.add_times(split, times),
        }
    }

    fn add(&mut self, other: &LatencySlot) {
        self.histogram.add(&other.histogram);
        self.split.add(&other.split);
    }

    fn clear(&mut self) {
        self.histogram.clear();
        self.split = SplitTally::default();
    }

    fn shown(&self, limit: Option<Duration>) -> Distribution {
        let histogram = &self.histogram;
        Distribution {
            summary: histogram.summary(),
            buckets: histogram.buckets(BARS_PER_OCTAVE),
            split: self.split.means(),
            missed: limit.and_then(|l| histogram.share_above(l.as_micros() as u64)),
        }
    }
}

impl LatencyTally {
    /// Returns the slot of the second of `now`, or the newest one if `now` is earlier.
    pub fn slot(&mut self, now: Duration) -> &mut LatencySlot {
        let second = now.as_secs();
        if second > self.second {
            self.advance(second);
        }
        &mut self.slots[(self.second % SLOTS as u64) as usize]
    }

    /// Returns the figures at `now`. Latencies above `limit` count as missed.
    pub fn view(&mut self, now: Duration, limit: Option<Duration>) -> LatencyView {
        self.slot(now);
        let mut lately = LatencySlot::default();
        self.slots.iter().for_each(|slot| lately.add(slot));
        let now = lately.shown(limit);
        lately.add(&self.past);
        LatencyView {
            now,
            since: lately.shown(limit),
        }
    }

    /// Empties the slots of the seconds up to `second`, the present one.
    fn advance(&mut self, second: u64) {
        let over = (second - self.second).min(SLOTS as u64);
        for step in 1..=over {
            let slot = &mut self.slots[((self.second + step) % SLOTS as u64) as usize];
            self.past.add(slot);
            slot.clear();
        }
        self.second = second;
    }
}

/// The parts of one latency, or their sums over many. They add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencySplit {
    /// From the time it was due until its samples were in the queues: the door, resizing and
    /// scaling, writing to the pool, and the delay of an open load that sent it late.
    pub admission: Duration,
    /// The wait for a lane.
    pub queueing: Duration,
    /// The wait for other samples of the batch while a lane was idle.
    pub batching: Duration,
    /// The copies to the device and back.
    pub copying: Duration,
    /// The computation.
    pub computing: Duration,
    /// The folding of the last member's answer into the ensemble's.
    pub combining: Duration,
}

impl LatencySplit {
    /// Returns the sum of all parts.
    pub fn total(&self) -> Duration {
        let served = self.copying + self.computing + self.combining;
        self.admission + self.queueing + self.batching + served
    }
}

impl AddAssign for LatencySplit {
    fn add_assign(&mut self, other: Self) {
        self.admission += other.admission;
        self.queueing += other.queueing;
        self.batching += other.batching;
        self.copying += other.copying;
        self.computing += other.computing;
        self.combining += other.combining;
    }
}

/// Sums of parts over requests, from which means follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitTally {
    sum: LatencySplit,
    count: u64,
}

/// The mean microseconds of a request in each part of its latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitMeans {
    /// As [`LatencySplit::admission`].
    pub admission: f64,
    /// As [`LatencySplit::queueing`].
    pub queueing: f64,
    /// As [`LatencySplit::batching`].
    pub batching: f64,
    /// As [`LatencySplit::copying`].
    pub copying: f64,
    /// As [`LatencySplit::computing`].
    pub computing: f64,
    /// As [`LatencySplit::combining`].
    pub combining: f64,
}

impl SplitTally {
    /// Adds one request.
    pub fn record(&mut self, split: LatencySplit) {
        self.sum += split;
        self.count += 1;
    }

    /// Adds `times` requests with the same parts.
    pub fn add_times(&mut self, split: LatencySplit, times: u64) {
        let factor = u32::try_from(times).unwrap_or(u32::MAX);
        self.sum += LatencySplit {
            admission: split.admission * factor,
            queueing: split.queueing * factor,
            batching: split.batching * factor,
            copying: split.copying * factor,
            computing: split.computing * factor,
            combining: split.combining * factor,
        };
        self.count += times;
    }

    /// Adds the requests of another tally.
    pub fn add(&mut self, other: &SplitTally) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Returns the means over all requests, zeros if there are none.
    pub fn means(&self) -> SplitMeans {
        let mean = |sum: Duration| sum.as_secs_f64() * 1e6 / self.count.max(1) as f64;
        SplitMeans {
            admission: mean(self.sum.admission),
            queueing: mean(self.sum.queueing),
            batching: mean(self.sum.batching),
            copying: mean(self.sum.copying),
            computing: mean(self.sum.computing),
            combining: mean(self.sum.combining),
        }
    }
}
