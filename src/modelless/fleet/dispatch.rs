//! Sends queries to instances.

use std::time::Duration;

use super::group::{HostedGroup, WaitingQuery};
use super::run::FleetRun;
use crate::choice::{ChoiceRefusal, ChosenVariant, VariantLoad};
use crate::goals::{LatencyGoal, QueryGoals};
use crate::placement::DeviceSlot;
use crate::variants::{TaskIndex, VariantIndex};

impl FleetRun<'_> {
    /// Sends a query to its chosen variant, or keeps it until a variant runs.
    pub(super) fn dispatch(&mut self, waiting: WaitingQuery) {
        let stream = self.report.queries[waiting.query].stream;
        let stream = &self.scenario.streams[usize::from(stream)];
        match self.choose(
            stream.task,
            &left(&stream.goals, self.clock.now(), &waiting),
        ) {
            Ok(chosen) => match self.soonest(chosen.variant) {
                Some((device, _)) => self.enqueue(device, chosen.variant, waiting),
                None => self.backlog.push(waiting),
            },
            Err(_) => self.miss(waiting.query),
        }
    }

    /// Chooses a variant. If late queries are not refused, it may be one that answers late or must
    /// be loaded.
    fn choose(&self, task: TaskIndex, goals: &QueryGoals) -> Result<ChosenVariant, ChoiceRefusal> {
        let chosen = self.choices.choose(task, goals);
        if self.scenario.refuses_late || chosen.is_ok() {
            return chosen;
        }
        if let Some(nearest) = self.choices.nearest(task, goals) {
            return Ok(nearest);
        }
        let patient = QueryGoals {
            latency: None,
            ..*goals
        };
        self.choices.choose(task, &patient)
    }

    /// Returns the device with the earliest answer for a query of a variant, and the variant's load
    /// there.
    fn soonest(&self, variant: VariantIndex) -> Option<(DeviceSlot, VariantLoad)> {
        let spec = self.scenario.catalog.variant(variant);
        let groups = self
            .groups
            .values()
            .filter(|g| g.variant == variant && g.loaded > 0);
        let loads = groups.map(|g| (g.device, self.load_of(g)));
        loads.min_by_key(|(device, load)| (load.finish(spec), *device))
    }

    fn load_of(&self, group: &HostedGroup) -> VariantLoad {
        let spec = self.scenario.catalog.variant(group.variant);
        let turns = spec.profile.sharing.takes_turns();
        let ends = match turns {
            true => self.taken[usize::from(group.device.0)],
            false => group.lane_free_at(group.lanes(spec)),
        };
        let now = self.clock.now();
        VariantLoad {
            instances: group.loaded,
            queued: group.queue.len() as u32,
            free_in: ends.map_or(Duration::ZERO, |end| end.saturating_sub(now)),
            others: if turns {
                self.others(group)
            } else {
                Duration::ZERO
            },
            slowdown: group.pace,
        }
    }

    /// Returns the time of other variants' queued batches on a device that runs one batch at a
    /// time.
    fn others(&self, group: &HostedGroup) -> Duration {
        let device = group.device;
        let row = (device, VariantIndex(0))..=(device, VariantIndex(u32::MAX));
        let groups = self.groups.range(row).map(|(_, group)| group);
        let others = groups.filter(|g| g.variant != group.variant);
        let queued = others.map(|g| {
            let spec = self.scenario.catalog.variant(g.variant);
            let (size, waits) = (spec.batch.get(), g.queue.len() as u32);
            let latency = &spec.profile.latency;
            let last = match waits % size {
                0 => Duration::ZERO,
                rest => latency.mean(rest),
            };
            latency.mean(size) * (waits / size) + last
        });
        queued.sum()
    }

    /// Updates the load of a variant, and of the variants that wait for the same device.
    pub(super) fn update_device(&mut self, device: DeviceSlot, variant: VariantIndex) {
        self.update_load(variant);
        if self
            .scenario
            .catalog
            .variant(variant)
            .profile
            .sharing
            .takes_turns()
        {
            let row = (device, VariantIndex(0))..=(device, VariantIndex(u32::MAX));
            let others = self.groups.range(row).filter(|(_, g)| g.loaded > 0);
            let others: Vec<VariantIndex> = others.map(|(_, g)| g.variant).collect();
            others.into_iter().for_each(|other| self.update_load(other));
        }
    }

    fn enqueue(&mut self, device: DeviceSlot, variant: VariantIndex, waiting: WaitingQuery) {
        self.group(device, variant).queue.push_back(waiting);
        self.start(device);
        self.update_device(device, variant);
    }

    /// Records that a query is not answered.
    fn miss(&mut self, query: usize) {
        let stream = usize::from(self.report.queries[query].stream);
        self.counts[stream].ended(1, false);
    }

    /// Updates the load of a variant.
    pub(super) fn update_load(&mut self, variant: VariantIndex) {
        let soonest = self.soonest(variant);
        let load = soonest.map_or(VariantLoad::INACTIVE, |(_, load)| load);
        self.choices.set_load(variant, load);
    }

    /// Ends a loading: the instance answers from now on, if it is still wanted.
    pub(super) fn loaded(&mut self, device: DeviceSlot, variant: VariantIndex) {
        let wanted = u32::from(self.hosted.count_on(variant, device));
        let group = self.group(device, variant);
        group.loaded = (group.loaded + 1).min(wanted);
        self.update_load(variant);
        self.dispatch_backlog();
        self.start(device);
    }

    /// Chooses again for queries without a running variant.
    pub(super) fn dispatch_backlog(&mut self) {
        for waiting in std::mem::take(&mut self.backlog) {
            self.dispatch(waiting);
        }
    }
}

/// Returns the goals of a waiting query with the remaining latency.
fn left(goals: &QueryGoals, now: Duration, waiting: &WaitingQuery) -> QueryGoals {
    let left = waiting.deadline.map(|deadline| {
        // A late query gets the shortest goal, which no variant meets.
        let left = deadline.saturating_sub(now).max(Duration::from_nanos(1));
        LatencyGoal::new(left).unwrap_or(LatencyGoal::MOST)
    });
    QueryGoals {
        latency: left,
        ..*goals
    }
}
