//! Latencies of the last seconds and of all the time before, in bounded memory, and where
//! their time went.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latency::{Bucket, LatencySummary};
use super::log_histogram::LogHistogram;

/// What "now" means of latencies: they are of answers given so lately, or since the last
/// reload or clearing where that is later.
pub const WINDOW: Duration = Duration::from_secs(SLOTS as u64);

/// One a second; the one that is still filling is among them.
const SLOTS: usize = 10;

/// Bars for each doubling.
const BARS_PER_OCTAVE: u32 = 4;

/// What is shown of a distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub summary: LatencySummary,
    /// Bars on a logarithmic axis; those without any are left out.
    pub buckets: Vec<Bucket>,
    /// Where the mean latency went, in microseconds.
    pub split: SplitMeans,
    /// Share that took longer than the target, where one is set.
    pub missed: Option<f64>,
}

/// Latencies lately, and over a longer time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyView {
    /// Of the last [`WINDOW`].
    pub now: Distribution,
    /// Since the last reload or clearing, or the start.
    pub since: Distribution,
}

/// Counts latencies second by second. No clock inside.
///
/// A distribution a second is kept for the window; what leaves it is added to one of all
/// the time before. So a latency is counted once, whatever is shown of it.
#[derive(Clone, Debug, Default)]
pub struct LatencyTally {
    /// By their second, round and round.
    slots: [LatencySlot; SLOTS],
    /// The second that is filling.
    second: u64,
    /// What left the window.
    past: LatencySlot,
}

/// Latencies of one second.
#[derive(Clone, Debug, Default)]
pub struct LatencySlot {
    histogram: LogHistogram,
    split: SplitTally,
}

impl LatencySlot {
    /// Counts a latency in microseconds, `times` times.
    pub fn record(&mut self, micros: u64, times: u64) {
        self.histogram.record(micros, times);
    }

    /// Counts where the time of as many latencies went.
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
    /// Where latencies of answers given `now` are counted; those of the past count in the
    /// newest second.
    pub fn slot(&mut self, now: Duration) -> &mut LatencySlot {
        let second = now.as_secs();
        if second > self.second {
            self.advance(second);
        }
        &mut self.slots[(self.second % SLOTS as u64) as usize]
    }

    /// What is shown at `now`; missed are those that took longer than `limit`.
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

    /// Empties the slots of the seconds up to `second`, which it is now.
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

/// Parts of one latency, or their sums over many; they add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencySplit {
    /// From when it was due until its samples stood in the queues: the door, resizing and
    /// scaling, writing to the pool; and how much too late an open load sent it.
    pub admission: Duration,
    /// Waiting for a lane.
    pub queueing: Duration,
    /// Waiting for others to share a batch with, although a lane was idle.
    pub batching: Duration,
    /// To the device and back.
    pub copying: Duration,
    pub computing: Duration,
    /// Folding the last member's answer into the ensemble's.
    pub combining: Duration,
}

impl LatencySplit {
    /// All parts together.
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

/// Sums over requests, to give means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitTally {
    sum: LatencySplit,
    count: u64,
}

/// Mean microseconds a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitMeans {
    pub admission: f64,
    pub queueing: f64,
    pub batching: f64,
    pub copying: f64,
    pub computing: f64,
    pub combining: f64,
}

impl SplitTally {
    /// Counts one request.
    pub fn record(&mut self, split: LatencySplit) {
        self.sum += split;
        self.count += 1;
    }

    /// Counts `times` that took the same.
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

    /// Counts what another one has.
    pub fn add(&mut self, other: &SplitTally) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Means over the requests so far; zeros where there are none.
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
