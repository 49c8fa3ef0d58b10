//! The profile of a worker in addition to its batch times: its loading time, and the tails of its
//! batch times.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::search::error::{SearchError, Stopped};
use divisi_model::metrics::stats::{median, usual_largest};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Profiler;
use super::measure::{ProfiledWorker, on_each};

/// The most equal batches of one size. In half of all runs of 69, the slowest batch is within the 99th
/// percentile (0.99 to the power of 69 is 0.5).
const MOST_BATCHES: usize = RUNS * 69;
/// The longest time for the batches of one size, except for the last one.
const MOST_TIME: Duration = Duration::from_millis(80);
/// The number of runs that the batches are divided into. A single disturbance affects only one of
/// them.
const RUNS: usize = 3;
/// The fewest batches with a tail of their own.
const ENOUGH: usize = 12;

/// The profile of a member's worker in addition to its batch times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerProfile {
    /// Seconds from weights in memory to the answer to the first batch.
    pub loading: f64,
    /// By number of samples, ascending: the 99th percentile of the times of equal batches over their
    /// median, 1 or more.
    pub tails: Vec<(usize, f64)>,
}

/// The seconds of equal batches.
#[derive(Clone, Copy)]
struct BatchSpread {
    median: f64,
    /// The 99th percentile minus the median, or `None` if there were too few batches.
    excess: Option<f64>,
}

impl WorkerProfile {
    /// Returns the tail of batches of `rows`: that of the next larger measured size, or of the
    /// largest one.
    pub fn tail(&self, rows: usize) -> f64 {
        let larger = self.tails.iter().find(|(size, _)| *size >= rows);
        let tail = larger.or(self.tails.last()).map_or(1.0, |(_, tail)| *tail);
        match tail.is_finite() {
            true => tail.max(1.0),
            false => 1.0,
        }
    }
}

/// Profiles a member's worker for batches of `sizes`, largest first, with all of `devices` busy.
/// Returns the longest loading time and the largest tails of all.
pub(super) fn profile_worker(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    devices: &[DeviceIndex],
    sizes: &[usize],
) -> Result<WorkerProfile, SearchError> {
    let found = on_each(devices, |device| on_one(profiler, member, device, sizes))?;
    let loading = found.iter().map(|worker| worker.loading);
    let tail = |at: usize| {
        let tails = found.iter().filter_map(|worker| worker.tails.get(at));
        tails.map(|(_, tail)| *tail).fold(1.0, f64::max)
    };
    let ascending = sizes.iter().rev().enumerate();
    Ok(WorkerProfile {
        loading: loading.fold(0.0, f64::max),
        tails: ascending.map(|(at, size)| (*size, tail(at))).collect(),
    })
}

fn on_one(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    device: DeviceIndex,
    sizes: &[usize],
) -> Result<WorkerProfile, SearchError> {
    let smallest = sizes.last().copied().unwrap_or(1);
    let began = Instant::now();
    let mut worker = ProfiledWorker::new(profiler, member, device, sizes[0])?;
    worker.run(smallest)?;
    let loading = began.elapsed().as_secs_f64();
    let mut tails = Vec::new();
    let mut excess = 0.0;
    for &size in sizes.iter().rev() {
        let spread = spread(profiler, &mut worker, size)?;
        // A few long batches have no percentile: interruptions are as long as in shorter batches.
        excess = spread.excess.unwrap_or(excess);
        tails.push((size, tail(spread.median, excess)));
    }
    Ok(WorkerProfile { loading, tails })
}

fn spread(
    profiler: &Profiler<'_>,
    worker: &mut ProfiledWorker,
    size: usize,
) -> Result<BatchSpread, SearchError> {
    let began = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || (times.len() < MOST_BATCHES && began.elapsed() < MOST_TIME) {
        times.push(worker.run(size)?.as_secs_f64());
        if profiler.control.is_cancelled() {
            return Err(Stopped.into());
        }
    }
    let runs = match times.len() < MOST_BATCHES {
        true => 1,
        false => RUNS,
    };
    let median = median(&times);
    let is_enough = times.len() >= ENOUGH;
    Ok(BatchSpread {
        median,
        excess: is_enough.then(|| (usual_largest(&times, runs) - median).max(0.0)),
    })
}

fn tail(median: f64, excess: f64) -> f64 {
    match median > 0.0 {
        true => 1.0 + excess / median,
        false => 1.0,
    }
}
