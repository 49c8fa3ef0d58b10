//! What a running engine shows of itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::allocation::Cell;
use crate::ensemble::PolicyKind;
use crate::lock::lock;
use crate::metrics::{Bucket, Latency, LatencySummary, SplitMeans, SplitTally};
use crate::serving::core::{DeviceStats, MemberStats, WorkerStats};
use crate::serving::door::DoorState;
use crate::trace::Span;

use super::engine::Engine;
use super::shared::{MOMENT, Watched};

/// Counters and rates of a running engine, for whoever shows them.
#[derive(Clone, Debug)]
pub struct Observed {
    pub now: Duration,
    pub door: DoorState,
    pub refused: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub restarts: u64,
    pub answered: u64,
    pub in_flight: usize,
    pub policy: PolicyKind,
    pub workers: Vec<WorkerStats>,
    pub devices: Vec<DeviceStats>,
    pub members: Vec<MemberStats>,
    pub requests_per_s: f64,
    pub samples_per_s: f64,
    /// Samples a second in each moment of [`Observed::moment`], oldest first.
    pub series: Vec<f64>,
    pub moment: Duration,
    pub latency: LatencySummary,
    /// Mean microseconds that requests spent where.
    pub split: SplitMeans,
    /// Devices that are gone.
    pub lost: Vec<bool>,
}

impl Engine {
    /// Time since the start.
    pub fn now(&self) -> Duration {
        self.shared.now()
    }

    /// Counters and rates.
    pub fn observe(&self) -> Observed {
        let watched = &self.shared.watched;
        let now = self.shared.now();
        let latency = lock(&watched.latency).summary();
        let split = lock(&watched.split).means();
        let (answered, requests_per_s, samples_per_s, series) = rates(watched, now);
        let mut core = self.shared.core();
        Observed {
            now,
            door: core.door().state().clone(),
            refused: core.door().refused(),
            failed: watched.failed.load(Ordering::Relaxed),
            cancelled: watched.cancelled.load(Ordering::Relaxed),
            restarts: watched.restarts.load(Ordering::Relaxed),
            answered,
            in_flight: core.in_flight(),
            policy: core.policy(),
            workers: core.worker_stats(now),
            devices: core.device_stats(now),
            members: core.member_stats(now),
            requests_per_s,
            samples_per_s,
            series,
            moment: MOMENT,
            latency,
            split,
            lost: (0..self.shared.devices.count())
                .map(|d| core.is_lost(d))
                .collect(),
        }
    }

    /// Bars of the latency distribution on a logarithmic axis.
    pub fn latency_buckets(&self, per_octave: u32) -> Vec<Bucket> {
        lock(&self.shared.watched.latency).buckets(per_octave)
    }

    /// Forgets latencies so far; gives what they were.
    pub fn clear_latency(&self) -> Latency {
        *lock(&self.shared.watched.split) = SplitTally::default();
        std::mem::take(&mut *lock(&self.shared.watched.latency))
    }

    /// Restarts of the worker at a place.
    pub fn restarts(&self, cell: Cell) -> u32 {
        self.shared.core().restarts(cell.device, cell.member)
    }

    /// Moves the spans since the last call to `into`, by device, oldest first; gives
    /// how many were lost since the start.
    pub fn drain_spans(&self, into: &mut Vec<Span>) -> u64 {
        let lanes = self.shared.lanes.iter();
        lanes.map(|lane| lane.spans.drain(into)).sum()
    }

    /// Takes what an operator should read.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.watched.notices))
    }
}

fn rates(watched: &Watched, now: Duration) -> (u64, f64, f64, Vec<f64>) {
    let lately = Duration::from_secs(1);
    let mut answered = lock(&watched.answered);
    let (requests, samples) = &mut *answered;
    (
        requests.total() as u64,
        requests.rate(now, lately),
        samples.rate(now, lately),
        samples.series(now),
    )
}
