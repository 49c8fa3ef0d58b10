//! Rates over time, latency distributions and statistics.
//!
//! [`LatencyTally`] holds a histogram for each of the last ten seconds, and one for the time
//! before. On screens, *now* means these ten seconds, or the time since a reload if that is
//! shorter. [`Latency`], with three digits, is only used for the ensemble. Each worker and each
//! member has a [`LogHistogram`] with 16 counters per doubling, which is cheap to record. A
//! [`Reading`] holds all counters since the start and never decreases. The difference of two
//! readings describes the time between them; history and probation measure this way.

mod errors;
mod latency;
mod moments;
mod rate;
mod requests;
pub mod stats;

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use divisi_runtime::device::host::{CoreLoad, Disturbance, HostLoad};
pub use errors::{
    ErrorCount, ErrorKey, ErrorLedger, ErrorOutcome, ErrorSubject, NamedVersion, RequestError,
};
pub use latency::{Bucket, Latency, LatencySummary, LatencyWhole, LogHistogram, ScaledHistogram};
pub use moments::{MOMENT, MOMENTS, MomentCounts};
pub use rate::{Growth, RateRing, Reading};
pub use requests::{
    KEPT_REQUESTS, LastRun, REQUEST_WINDOW, RequestLog, RequestOrigin, RequestRecord,
    RequestSender, RequestsView,
};

/// The time that *now* means for latencies. A later reload or clearing shortens it.
pub const WINDOW: Duration = Duration::from_secs(SLOTS as u64);

/// The number of slots, one per second, including the slot of the present second.
const SLOTS: usize = 10;

/// The number of bars per doubling.
const BARS_PER_OCTAVE: u32 = 4;

/// The figures of a distribution of latencies for screens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The percentiles.
    pub summary: LatencySummary,
    /// Bars on a logarithmic axis, without the empty ones.
    pub buckets: Vec<Bucket>,
    /// The parts of the mean latency, in microseconds.
    pub split: SplitMeans,
    /// The share of latencies above the target, if a target is set.
    pub missed: Option<f64>,
}

/// Recent latencies, and latencies over a longer time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyView {
    /// The latencies of the last [`WINDOW`].
    pub now: Distribution,
    /// The latencies since the last reload or clearing, or since the start.
    pub since: Distribution,
}

/// Counts latencies second by second. It has no clock.
///
/// Each second of the window has its own distribution. It is added to the distribution of the past
/// when the second leaves the window.
#[derive(Clone, Debug, Default)]
pub struct LatencyTally {
    /// Distributions by second, modulo the number of slots.
    slots: [LatencySlot; SLOTS],
    /// The present second.
    second: u64,
    /// The latencies that left the window.
    past: LatencySlot,
}

/// The latencies of one second.
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

    /// Records the parts of `times` latencies.
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

/// The parts of one latency, or their sums over many latencies. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySplit {
    /// The time from the due time of the request until its samples were queued: the door, resizing
    /// and scaling, writing to the pool, and the lateness of an open load.
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

/// Sums of parts over requests, for computing means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitTally {
    sum: LatencySplit,
    count: u64,
}

/// The mean microseconds per request in each part of the latency.
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

    /// Returns the means over all requests, or zeros without requests.
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
