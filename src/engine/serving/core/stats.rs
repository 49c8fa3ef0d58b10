//! Recent figures of workers, devices and members, and the requests without an answer.

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
    /// The worker.
    pub spec: WorkerSpec,
    /// Finished batches.
    pub batches: u64,
    /// Samples of the finished batches.
    pub samples: u64,
    /// Total seconds of its device that its batches took.
    pub seconds: f64,
    /// Recent mean share of their lanes that its batches filled, or 0 without batches.
    pub fill: f64,
    /// Recent seconds of its device per second.
    pub load: f64,
    /// Samples of its batches in execution.
    pub alive: usize,
    /// Recent time of its batches relative to the profiled time on an idle device, or `None`
    /// without a profile.
    pub slowdown: Option<f64>,
    /// Samples that it has taken and not started.
    pub waiting: usize,
    /// Recent seconds of copying relative to seconds of computing.
    pub copying: f64,
    /// Recent seconds of copying per second.
    pub copied: f64,
}

/// Recent figures of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceStats {
    /// Share of the time in which it ran batches.
    pub busy: f64,
    /// Share of the time in which it copied.
    pub copying: f64,
    /// Samples in execution.
    pub alive: usize,
    /// The bound set for the device.
    pub max_inf: Option<NonZeroU32>,
}

/// Recent figures of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberStats {
    /// Samples waiting in its queue.
    pub queued: usize,
    /// Recent samples per second.
    pub samples_per_s: f64,
    /// Samples per second in each [`MOMENT`], oldest first.
    pub series: Vec<f32>,
    /// Seconds of devices that it took since the start.
    pub device_s: f64,
}

/// The latencies of a core, by worker and by member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// By worker.
    pub workers: Vec<(WorkerId, LatencyView)>,
    /// By member.
    pub members: Vec<LatencyView>,
}

/// The width of a moment of the throughput series.
pub(crate) const MOMENT: Duration = Duration::from_millis(250);
/// The number of moments kept.
pub(crate) const MOMENTS: usize = 480;

/// The counters of one worker.
pub(super) struct WorkerTally {
    /// Finished batches.
    pub batches: u64,
    /// Samples of the finished batches.
    pub samples: u64,
    /// Seconds spent on those batches.
    pub seconds: f64,
    /// Recent seconds spent on batches.
    pub busy: RateRing,
    /// Seconds of computing, and the seconds that it would have taken undisturbed.
    computed: RateRing,
    expected: RateRing,
    copying: RateRing,
    /// Samples of its batches, and the room for samples in them.
    filled: RateRing,
    room: RateRing,
    /// Latencies of its batches.
    pub latencies: LatencyTally,
}

impl WorkerTally {
    /// Creates counters at zero.
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

    /// Returns the recent seconds of copying relative to seconds of computing, and the former per
    /// second.
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
    /// Creates counters at zero.
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
    /// Creates an engine without copies.
    pub(super) fn new() -> Self {
        CopyEngine {
            busy: rates(),
            until: Duration::ZERO,
        }
    }

    /// Records a copy that was requested at `asked` and ended at `now`.
    pub(super) fn copied(&mut self, now: Duration, asked: Duration) {
        let from = asked.max(self.until);
        self.busy.add(now, now.saturating_sub(from).as_secs_f64());
        self.until = self.until.max(now);
    }
}

/// The width of the buckets of rates, which are shown over [`LATELY`].
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
    /// Returns the workers with their figures, without draining ones.
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

    /// Returns the recent load of each device, with the figures of its workers in `workers`.
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

    /// Returns the recent figures of each member.
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

    /// Returns the latencies from arrival to a member's answer, by worker and by member, and the
    /// share above `limit`.
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

    /// Clears the latencies.
    pub fn clear_latencies(&mut self) {
        for tally in self.tallies.values_mut() {
            tally.latencies = LatencyTally::default();
        }
        for done in &mut self.member_done {
            done.latencies = LatencyTally::default();
        }
    }

    /// Returns the restarts of workers by place (device, member). Omits places without restarts.
    pub fn restarts(&self) -> &HashMap<(DeviceIndex, MemberIndex), u32> {
        &self.restarts
    }
}

impl<T: Clone> Core<T> {
    /// Returns the waiting time of the oldest request that is not over, or `None` without requests
    /// under way. Each call skips finished requests for good, so frequent calls are cheap.
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
