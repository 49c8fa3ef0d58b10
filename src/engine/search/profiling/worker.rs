//! The profile of a worker in addition to its batch times: its loading time, and the tail of its
//! batch times.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::search::error::{SearchError, Stopped};
use divisi_model::metrics::stats::{median, usual_largest};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Profiler;
use super::measure::{ProfiledWorker, on_each};

/// The most equal batches. In half of all runs of 69, the slowest batch is within the 99th
/// percentile (0.99 to the power of 69 is 0.5).
const MOST_BATCHES: usize = RUNS * 69;
/// The longest time for these batches, except for the last one.
const MOST_TIME: Duration = Duration::from_millis(300);
/// The number of runs that the batches are divided into. A single disturbance affects only one of
/// them.
const RUNS: usize = 3;

/// The profile of a member's worker in addition to its batch times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerProfile {
    /// Seconds from weights in memory to the answer to the first batch.
    pub loading: f64,
    /// The 99th percentile of the times of equal batches over their median: 1 or more.
    pub tail: f64,
    /// The number of measured batches. If there was no time for all, the slowest one counts.
    pub batches: usize,
}

/// Profiles a member's worker for batches of `size` with all of `devices` busy. Returns the longest
/// loading time and tail of all.
pub(super) fn profile_worker(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    devices: &[DeviceIndex],
    size: usize,
) -> Result<WorkerProfile, SearchError> {
    let found = on_each(devices, |device| on_one(profiler, member, device, size))?;
    let most = |figure: fn(&WorkerProfile) -> f64| found.iter().map(figure).fold(0.0, f64::max);
    Ok(WorkerProfile {
        loading: most(|worker| worker.loading),
        tail: most(|worker| worker.tail),
        batches: found.iter().map(|worker| worker.batches).sum(),
    })
}

fn on_one(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    device: DeviceIndex,
    size: usize,
) -> Result<WorkerProfile, SearchError> {
    let began = Instant::now();
    let mut worker = ProfiledWorker::new(profiler, member, device, size)?;
    worker.run(size)?;
    let loading = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || (times.len() < MOST_BATCHES && began.elapsed() < MOST_TIME) {
        times.push(worker.run(size)?.as_secs_f64());
        if profiler.control.is_cancelled() {
            return Err(Stopped.into());
        }
    }
    Ok(WorkerProfile {
        loading,
        tail: tail(&times),
        batches: times.len(),
    })
}

/// Returns about the 99th percentile over the median, of times in measured order.
fn tail(times: &[f64]) -> f64 {
    let runs = match times.len() < MOST_BATCHES {
        true => 1,
        false => RUNS,
    };
    let middle = median(times);
    match middle > 0.0 {
        true => (usual_largest(times, runs) / middle).max(1.0),
        false => 1.0,
    }
}
