//! Starts and ends batches.

use std::ops::Range;
use std::time::Duration;

use super::clock::FleetEvent;
use super::group::{BatchLatencies, HostedGroup, WaitingQuery};
use super::run::FleetRun;
use crate::goals::MissedGoals;
use crate::jobs::{DeviceOutlook, JobStep, latest_start};
use crate::placement::DeviceSlot;
use crate::states::VariantState;
use crate::variants::{DeviceSharing, VariantIndex};

/// A running batch.
#[derive(Clone, Debug)]
pub(super) struct SimulatedBatch {
    device: DeviceSlot,
    variant: VariantIndex,
    times: BatchLatencies,
    work: BatchWork,
}

/// The contents of a batch.
#[derive(Clone, Debug)]
enum BatchWork {
    Online(Vec<WaitingQuery>),
    Offline(usize, Range<u64>),
}

impl FleetRun<'_> {
    /// Starts all possible batches on a device: queries first, then rows of jobs.
    pub(super) fn start(&mut self, device: DeviceSlot) {
        while let Some(variant) = self.next_online(device) {
            let spec = self.scenario.catalog.variant(variant);
            let most = spec.batch.get();
            let queries = self.group(device, variant).take(most);
            let latency = spec.profile.latency.mean(queries.len() as u32);
            self.run_batch(device, variant, latency, BatchWork::Online(queries));
        }
        for job in 0..self.jobs.len() {
            self.start_offline(device, job);
        }
    }

    pub(super) fn start_everywhere(&mut self) {
        for device in self.hosted.devices() {
            self.start(device);
        }
    }

    /// Returns the variant on a device that can start a batch and has the oldest query.
    fn next_online(&self, device: DeviceSlot) -> Option<VariantIndex> {
        let row = (device, VariantIndex(0))..=(device, VariantIndex(u32::MAX));
        let groups = self.groups.range(row).map(|(_, group)| group);
        let free = groups.filter(|g| self.is_free(device, g.variant));
        let waiting = free.filter_map(|g| g.queue.front().map(|q| (q.arrived, g.variant)));
        waiting.min().map(|(_, variant)| variant)
    }

    /// Returns whether a variant on a device can start a batch.
    fn is_free(&self, device: DeviceSlot, variant: VariantIndex) -> bool {
        let spec = self.scenario.catalog.variant(variant);
        let Some(group) = self.groups.get(&(device, variant)) else {
            return false;
        };
        match spec.profile.sharing {
            DeviceSharing::Space => group.running() < group.lanes(spec),
            DeviceSharing::Time | DeviceSharing::Unreserved => {
                group.loaded > 0 && self.taken[usize::from(device.0)].is_none()
            }
        }
    }

    fn run_batch(
        &mut self,
        device: DeviceSlot,
        variant: VariantIndex,
        profiled: Duration,
        work: BatchWork,
    ) {
        let latency = self.disturbed(device, profiled);
        let sharing = self.scenario.catalog.variant(variant).profile.sharing;
        if sharing.takes_turns() {
            self.taken[usize::from(device.0)] = Some(self.clock.now() + latency);
        }
        let end = self.clock.now() + latency;
        self.group(device, variant).ends.push(end);
        self.batches.push(Some(SimulatedBatch {
            device,
            variant,
            times: BatchLatencies { latency, profiled },
            work,
        }));
        self.clock
            .plan(end, FleetEvent::BatchEnds(self.batches.len() - 1));
    }

    /// Returns the time of a batch that starts now on a device.
    fn disturbed(&self, device: DeviceSlot, profiled: Duration) -> Duration {
        let now = self.clock.now();
        let disturbances = self.scenario.disturbances.iter();
        let current =
            disturbances.filter(|d| d.device == device && (d.from..d.until).contains(&now));
        current.fold(profiled, |latency, d| latency.mul_f64(d.slowdown))
    }

    /// Starts rows of a job if its variant is free on a device that has time for it.
    fn start_offline(&mut self, device: DeviceSlot, job: usize) {
        let variant = self.jobs[job].0;
        while self.is_free(device, variant) {
            let outlook = self.outlook(device, variant);
            let now = self.clock.now();
            let spec = self.scenario.catalog.variant(variant);
            match self.jobs[job].1.next(now, spec, &outlook) {
                JobStep::Run(batch) => {
                    let rows = (batch.rows.end - batch.rows.start) as u32;
                    let latency = spec.profile.latency.mean(rows);
                    let work = BatchWork::Offline(job, batch.rows);
                    self.run_batch(device, variant, latency, work);
                }
                JobStep::Wait(_) | JobStep::Nothing => return,
            }
        }
    }

    /// Returns the work of a device for queries. A new query waits for a job's batch only if that
    /// takes the last free lane.
    fn outlook(&self, device: DeviceSlot, variant: VariantIndex) -> DeviceOutlook {
        let catalog = &self.scenario.catalog;
        let row = (device, VariantIndex(0))..=(device, VariantIndex(u32::MAX));
        let groups: Vec<_> = self.groups.range(row).map(|(_, group)| group).collect();
        let interfered =
            |v: VariantIndex| self.instances.state(v, device) == VariantState::Interfered;
        let queued = groups.iter().flat_map(|g| {
            let one = catalog.variant(g.variant).profile.latency.mean(1);
            g.queue.iter().map(move |q| (q.deadline, one))
        });
        let spec = catalog.variant(variant);
        let is_last = self.groups.get(&(device, variant)).is_none_or(|group| {
            spec.profile.sharing.takes_turns() || group.running() + 1 >= group.lanes(spec)
        });
        DeviceOutlook {
            utilisation: self.utilisation[usize::from(device.0)],
            interfered: groups.iter().any(|g| interfered(g.variant)),
            needed_at: latest_start(queued),
            spare: is_last.then(|| self.spare(&groups)).flatten(),
        }
    }

    /// Returns the longest time that a query of a variant on this device may wait.
    fn spare(&self, groups: &[&HostedGroup]) -> Option<Duration> {
        let catalog = &self.scenario.catalog;
        let each = groups.iter().flat_map(|g| {
            let task = catalog.task_of(g.variant);
            let p99 = catalog.variant(g.variant).profile.latency.p99(1);
            let streams = self.scenario.streams.iter().filter(move |s| s.task == task);
            // Goals that the variant misses even when idle are not sent to it.
            streams.filter_map(move |s| s.goals.latency?.get().checked_sub(p99))
        });
        each.min()
    }

    pub(super) fn end_batch(&mut self, batch: usize) {
        let Some(batch) = self.batches[batch].take() else {
            return;
        };
        let now = self.clock.now();
        let (device, variant) = (batch.device, batch.variant);
        let sharing = self.scenario.catalog.variant(variant).profile.sharing;
        if sharing.takes_turns() {
            self.taken[usize::from(device.0)] = None;
        }
        let group = self.group(device, variant);
        // Batches with the same end are equal.
        if let Some(at) = group.ends.iter().position(|end| *end == now) {
            group.ends.swap_remove(at);
        }
        match batch.work {
            BatchWork::Online(queries) => {
                if let Some(first) = queries.first() {
                    group.ended(now, first.arrived, batch.times, sharing.takes_turns());
                }
                queries.iter().for_each(|query| self.answer(query, variant));
            }
            BatchWork::Offline(job, rows) => {
                let written = self.jobs[job].1.finished(&rows);
                debug_assert!(written.is_ok(), "they ran");
            }
        }
        self.start(device);
        self.update_device(device, variant);
    }

    fn answer(&mut self, waiting: &WaitingQuery, variant: VariantIndex) {
        let took = self.clock.now() - waiting.arrived;
        let record = &mut self.report.queries[waiting.query];
        let stream = usize::from(record.stream);
        let spec = self.scenario.catalog.variant(variant);
        let goals = &self.scenario.streams[stream].goals;
        let accuracy = spec.accuracy.value();
        record.answer = Some((variant, took));
        record.met = MissedGoals::compare(goals, accuracy, took, spec.query_cost()).is_none();
        self.counts[stream].ended(1, record.met);
        self.served[variant.get()] += 1;
    }
}
