//! What workers, devices and members did lately.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::metrics::RateRing;

use super::{Core, Stamps};
use crate::serving::batch::Batch;
use crate::serving::scheduler::WorkerSpec;

/// What one worker did so far.
#[derive(Clone, Debug)]
pub struct WorkerStats {
    pub spec: WorkerSpec,
    pub batches: u64,
    pub samples: u64,
    /// Seconds of its device that its batches took so far.
    pub seconds: f64,
    /// Seconds of its device a second, lately.
    pub load: f64,
    /// Samples of its batches in execution.
    pub alive: usize,
    /// Time its batches took over what a profile says they take alone, lately; none
    /// where there is no profile.
    pub slowdown: Option<f64>,
}

/// What one device did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceStats {
    /// Share of the time it ran batches.
    pub busy: f64,
    /// Samples in execution.
    pub alive: usize,
    /// What was set for it.
    pub max_inf: Option<NonZeroU32>,
}

/// What one member did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberStats {
    pub queued: usize,
    pub samples_per_s: f64,
}

/// Counters of one worker.
pub(super) struct Tally {
    pub batches: u64,
    pub samples: u64,
    pub seconds: f64,
    pub busy: RateRing,
    /// Seconds that computing took, and would have taken undisturbed.
    computed: RateRing,
    expected: RateRing,
}

impl Tally {
    /// Nothing done yet.
    pub fn new() -> Self {
        Tally {
            batches: 0,
            samples: 0,
            seconds: 0.0,
            busy: rates(),
            computed: rates(),
            expected: rates(),
        }
    }

    /// Counts a batch.
    pub fn finished<T>(&mut self, now: Duration, batch: &Batch<T>, stamps: &Stamps) {
        self.batches += 1;
        self.samples += batch.samples as u64;
        self.seconds += stamps.busy.as_secs_f64();
        self.busy.add(now, stamps.busy.as_secs_f64());
        if let Some(expected) = stamps.expected {
            let took = stamps.computed.saturating_sub(stamps.copied);
            self.computed.add(now, took.as_secs_f64());
            self.expected.add(now, expected.as_secs_f64());
        }
    }

    fn slowdown(&mut self, now: Duration) -> Option<f64> {
        let expected = self.expected.rate(now, LATELY);
        (expected > 0.0).then(|| self.computed.rate(now, LATELY) / expected)
    }
}

/// Rates are kept in buckets of this width, and shown over [`LATELY`].
const BUCKET: Duration = Duration::from_millis(200);
const BUCKETS: usize = 8;
const LATELY: Duration = Duration::from_secs(1);

pub(super) fn rates() -> RateRing {
    RateRing::new(BUCKET, BUCKETS)
}

impl<T: Clone> Core<T> {
    /// Workers with what they did; draining ones are left out.
    pub fn worker_stats(&mut self, now: Duration) -> Vec<WorkerStats> {
        let specs: Vec<WorkerSpec> = self.scheduler.staying().collect();
        let stats = specs.into_iter().filter_map(|spec| {
            let tally = self.tallies.get_mut(&spec.id)?;
            Some(WorkerStats {
                spec,
                batches: tally.batches,
                samples: tally.samples,
                seconds: tally.seconds,
                load: tally.busy.rate(now, LATELY),
                slowdown: tally.slowdown(now),
                alive: self.scheduler.alive_of(spec.id),
            })
        });
        stats.collect()
    }

    /// How busy each device was lately.
    pub fn device_stats(&mut self, now: Duration) -> Vec<DeviceStats> {
        let mut devices = vec![DeviceStats::default(); self.asleep.len()];
        for stats in self.worker_stats(now) {
            let device = &mut devices[stats.spec.device];
            device.busy += stats.load;
            device.alive += stats.alive;
        }
        for (index, device) in devices.iter_mut().enumerate() {
            device.max_inf = self.scheduler.max_inf(index);
        }
        devices
    }

    /// What each member did lately.
    pub fn member_stats(&mut self, now: Duration) -> Vec<MemberStats> {
        let queues = (0..self.members).map(|m| self.scheduler.queued(m));
        let queued: Vec<usize> = queues.collect();
        let rates = self.member_rates.iter_mut();
        queued
            .into_iter()
            .zip(rates)
            .map(|(queued, rate)| MemberStats {
                queued,
                samples_per_s: rate.rate(now, LATELY),
            })
            .collect()
    }

    /// Restarts of the worker at a place.
    pub fn restarts(&self, device: usize, member: usize) -> u32 {
        self.restarts.get(&(device, member)).copied().unwrap_or(0)
    }
}
