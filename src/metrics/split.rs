//! Where the time of a request went.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
