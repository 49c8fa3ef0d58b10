//! How workers, devices and members do lately, and what is not answered yet.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::serving::batch::{Batch, RequestKey, WorkerId};
use crate::serving::scheduler::{Duty, WorkerSpec};
use divisi_model::metrics::{LatencyTally, LatencyView, RateRing};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::{Core, Stamps};

/// A worker's counters.
#[derive(Clone, Debug)]
pub struct WorkerStats {
    /// Which worker.
    pub spec: WorkerSpec,
    /// Batches that it finished.
    pub batches: u64,
    /// Samples of those batches.
    pub samples: u64,
    /// Seconds of its device that its batches took so far.
    pub seconds: f64,
    /// Mean share of their lanes that its batches filled, lately; 0 of none.
    pub fill: f64,
    /// Seconds of its device a second, lately.
    pub load: f64,
    /// Samples of its batches in execution.
    pub alive: usize,
    /// Time its batches took over what a profile says they take alone, lately; none
    /// where there is no profile.
    pub slowdown: Option<f64>,
    /// Samples that it has taken and not started.
    pub waiting: usize,
    /// Seconds spent copying over seconds spent computing, lately.
    pub copying: f64,
    /// Seconds it copied a second, lately.
    pub copied: f64,
}

/// How one device does, lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceStats {
    /// Share of the time it ran batches.
    pub busy: f64,
    /// Share of the time it copied.
    pub copying: f64,
    /// Samples in execution.
    pub alive: usize,
    /// The bound that was set for it.
    pub max_inf: Option<NonZeroU32>,
}

/// How one member does, lately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberStats {
    /// Samples that wait in its queue.
    pub queued: usize,
    /// Samples a second, lately.
    pub samples_per_s: f64,
    /// Samples a second in each [`MOMENT`], oldest first.
    pub series: Vec<f32>,
    /// Seconds of devices that it took since the start.
    pub device_s: f64,
}

/// Latencies of what a core serves, by worker and by member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// By worker.
    pub workers: Vec<(WorkerId, LatencyView)>,
    /// By member.
    pub members: Vec<LatencyView>,
}

/// Width of a moment of the throughput series.
pub(crate) const MOMENT: Duration = Duration::from_millis(250);
/// How many moments are kept.
pub(crate) const MOMENTS: usize = 480;

/// Counters of one worker.
pub(super) struct WorkerTally {
    /// Batches finished.
    pub batches: u64,
    /// Samples of those batches.
    pub samples: u64,
    /// Seconds spent on those batches.
    pub seconds: f64,
    /// Recent seconds spent on batches.
    pub busy: RateRing,
    /// Seconds that computing took, and would have taken undisturbed.
    computed: RateRing,
    expected: RateRing,
    copying: RateRing,
    /// Samples of its batches, and as many as there was room for.
    filled: RateRing,
    room: RateRing,
    /// Latencies of its batches.
    pub latencies: LatencyTally,
}

impl WorkerTally {
    /// Nothing done yet.
    pub(super) fn new() -> Self {
        WorkerTally {
            batches: 0,
            samples: 0,
            seconds: 0.0,
            busy: rates(),
            computed: rates(),
            expected: rates(),
            copying: rates(),
            filled: rates(),
            room: rates(),
            latencies: LatencyTally::default(),
        }
    }

    /// Counts a batch.
    pub(super) fn finished<T>(&mut self, now: Duration, batch: &Batch<T>, stamps: &Stamps) {
        self.batches += 1;
        self.samples += batch.samples as u64;
        self.seconds += stamps.busy.as_secs_f64();
        self.busy.add(now, stamps.busy.as_secs_f64());
        self.filled.add(now, batch.samples as f64);
        self.room.add(now, batch.lane.size as f64);
        let took = stamps.computed.saturating_sub(stamps.copied);
        self.computed.add(now, took.as_secs_f64());
        self.copying.add(now, copying(stamps).as_secs_f64());
        if let Some(expected) = stamps.expected {
            self.expected.add(now, expected.as_secs_f64());
        }
    }

    /// Seconds copying over seconds computing, lately; and the former a second.
    fn copying(&mut self, now: Duration) -> (f64, f64) {
        let copied = self.copying.rate(now, LATELY);
        let computed = self.computed.rate(now, LATELY);
        match computed > 0.0 {
            true => (copied / computed, copied),
            false => (0.0, copied),
        }
    }

    fn fill(&mut self, now: Duration) -> f64 {
        match self.room.rate(now, LATELY) {
            room if room > 0.0 => self.filled.rate(now, LATELY) / room,
            _ => 0.0,
        }
    }

    fn slowdown(&mut self, now: Duration) -> Option<f64> {
        let expected = self.expected.rate(now, LATELY);
        (expected > 0.0).then(|| self.computed.rate(now, LATELY) / expected)
    }
}

/// A member's counters since the start.
pub(super) struct Done {
    /// Samples done, by moment of the throughput series.
    pub samples: RateRing,
    /// The time that devices spent on its batches.
    pub device: Duration,
    /// Latencies of its batches.
    pub latencies: LatencyTally,
}

impl Done {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Done {
            samples: RateRing::new(MOMENT, MOMENTS),
            device: Duration::ZERO,
            latencies: LatencyTally::default(),
        }
    }
}

/// The engine that copies a device's inputs ahead, one after another.
pub(super) struct CopyEngine {
    /// Recent seconds spent copying.
    pub busy: RateRing,
    until: Duration,
}

impl CopyEngine {
    /// It has copied nothing.
    pub(super) fn new() -> Self {
        CopyEngine {
            busy: rates(),
            until: Duration::ZERO,
        }
    }

    /// A copy was there at `now` that was `asked` for.
    pub(super) fn copied(&mut self, now: Duration, asked: Duration) {
        let from = asked.max(self.until);
        self.busy.add(now, now.saturating_sub(from).as_secs_f64());
        self.until = self.until.max(now);
    }
}

/// Rates are kept in buckets of this width, and shown over [`LATELY`].
const BUCKET: Duration = Duration::from_millis(200);
const BUCKETS: usize = 8;
pub(super) const LATELY: Duration = Duration::from_secs(1);

fn copying(stamps: &Stamps) -> Duration {
    let to = stamps.copied.saturating_sub(stamps.started);
    to + stamps.returned.saturating_sub(stamps.computed)
}

pub(super) fn rates() -> RateRing {
    RateRing::new(BUCKET, BUCKETS)
}

impl<T: Clone> Core<T> {
    /// Workers with what they did; draining ones are left out.
    pub fn worker_stats(&mut self, now: Duration) -> Vec<WorkerStats> {
        let staying: Vec<Duty> = self.scheduler.duties().collect();
        let stats = staying.into_iter().filter_map(|at| {
            let tally = self.tallies.get_mut(&at.spec.id)?;
            let (copying, copied) = tally.copying(now);
            Some(WorkerStats {
                spec: at.spec,
                batches: tally.batches,
                samples: tally.samples,
                seconds: tally.seconds,
                load: tally.busy.rate(now, LATELY),
                fill: tally.fill(now),
                slowdown: tally.slowdown(now),
                alive: at.alive,
                waiting: at.waiting,
                copying,
                copied,
            })
        });
        stats.collect()
    }

    /// How busy each device was lately, where its workers did what `workers` say.
    pub fn device_stats(&mut self, now: Duration, workers: &[WorkerStats]) -> Vec<DeviceStats> {
        let mut devices = vec![DeviceStats::default(); self.rest.len()];
        for stats in workers {
            let device = &mut devices[stats.spec.device];
            device.busy += stats.load;
            device.copying += stats.copied;
            device.alive += stats.alive;
        }
        for (index, device) in DeviceIndex::enumerate(&mut devices) {
            device.copying += self.copies[index].busy.rate(now, LATELY);
            device.max_inf = self.scheduler.max_inf(index);
        }
        devices
    }

    /// Returns how each member does, lately.
    pub fn member_stats(&mut self, now: Duration) -> Vec<MemberStats> {
        let queues = MemberIndex::all(self.members).map(|m| self.scheduler.queued(m));
        let queued: Vec<usize> = queues.collect();
        let done = self.member_done.iter_mut();
        queued
            .into_iter()
            .zip(done)
            .map(|(queued, done)| MemberStats {
                queued,
                samples_per_s: done.samples.rate(now, LATELY),
                series: done.samples.series(now).iter().map(|v| *v as f32).collect(),
                device_s: done.device.as_secs_f64(),
            })
            .collect()
    }

    /// From arrival to a member's answer, by worker and by member; and the share that
    /// took longer than `limit`.
    pub fn latencies(&mut self, now: Duration, limit: Option<Duration>) -> Latencies {
        let workers = self.tallies.iter_mut();
        let members = self.member_done.iter_mut();
        Latencies {
            workers: workers
                .map(|(id, tally)| (*id, tally.latencies.view(now, limit)))
                .collect(),
            members: members
                .map(|done| done.latencies.view(now, limit))
                .collect(),
        }
    }

    /// Forgets latencies so far.
    pub fn clear_latencies(&mut self) {
        for tally in self.tallies.values_mut() {
            tally.latencies = LatencyTally::default();
        }
        for done in &mut self.member_done {
            done.latencies = LatencyTally::default();
        }
    }

    /// Restarts of the worker at each place (device, member) where there were any.
    pub fn restarts(&self) -> &HashMap<(DeviceIndex, MemberIndex), u32> {
        &self.restarts
    }
}

impl<T: Clone> Core<T> {
    /// How long the oldest request that is not over has waited for its answer; none where
    /// nothing is under way. Requests are passed over once each, so asking often costs
    /// nothing.
    pub fn oldest_waiting(&mut self, now: Duration) -> Option<Duration> {
        while self.oldest < self.next_request {
            let request = self.requests.get(&RequestKey(self.oldest));
            if let Some(entry) = request.filter(|e| !e.over) {
                return Some(now.saturating_sub(entry.submitted));
            }
            self.oldest += 1;
        }
        None
    }
}
