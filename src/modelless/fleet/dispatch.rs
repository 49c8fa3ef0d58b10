//! Queries to instances.

use std::time::Duration;

use super::group::WaitingQuery;
use super::run::FleetRun;
use crate::choice::{ChoiceRefusal, ChosenVariant, VariantLoad};
use crate::goals::{LatencyGoal, QueryGoals};
use crate::placement::DeviceSlot;
use crate::variants::{TaskIndex, VariantIndex};

impl FleetRun<'_> {
    /// Takes a query to the variant that is chosen for it, or keeps it until one runs.
    pub(super) fn dispatch(&mut self, waiting: WaitingQuery) {
        let stream = self.report.queries[waiting.query].stream;
        let stream = &self.scenario.streams[usize::from(stream)];
        match self.choose(
            stream.task,
            &left(&stream.goals, self.clock.now(), &waiting),
        ) {
            Ok(chosen) => match self.least_loaded(chosen.variant) {
                Some(device) => self.enqueue(device, chosen.variant, waiting),
                None => self.backlog.push(waiting),
            },
            Err(_) => self.miss(waiting.query),
        }
    }

    /// Chooses a variant; where lateness is no reason to refuse, also one that answers late, or that
    /// has yet to be loaded.
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

    /// Returns the device on which a variant has the least to do for each instance.
    fn least_loaded(&self, variant: VariantIndex) -> Option<DeviceSlot> {
        let groups = self
            .groups
            .values()
            .filter(|g| g.variant == variant && g.loaded > 0);
        let least = groups.min_by_key(|g| {
            let waits = (g.queue.len() as u64 + u64::from(g.running)) * 1_000_000;
            (
                self.others(g.device, variant),
                waits / u64::from(g.loaded),
                g.device,
            )
        });
        least.map(|g| g.device)
    }

    /// Returns how long other variants' batches take a device that runs one batch at a time: the one
    /// that runs, and those that wait.
    fn others(&self, device: DeviceSlot, variant: VariantIndex) -> Duration {
        let catalog = &self.scenario.catalog;
        if !catalog.variant(variant).profile.sharing.takes_turns() {
            return Duration::ZERO;
        }
        let row = (device, VariantIndex(0))..=(device, VariantIndex(u32::MAX));
        let groups = self.groups.range(row).map(|(_, group)| group);
        let others = groups.filter(|g| g.variant != variant);
        let queued = others.map(|g| {
            let spec = catalog.variant(g.variant);
            let waits = g.queue.len() as u32;
            let batch = spec.batch.get().min(waits.max(1));
            spec.profile.latency.mean(batch) * waits.div_ceil(spec.batch.get())
        });
        let own = self
            .groups
            .get(&(device, variant))
            .is_some_and(|g| g.running > 0);
        let ends = self.taken[usize::from(device.0)].filter(|_| !own);
        let runs = ends.map_or(Duration::ZERO, |end| end.saturating_sub(self.clock.now()));
        queued.sum::<Duration>() + runs
    }

    /// Tells the choices how much a variant has to do, and those that wait for the same device.
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

    /// Notes that a query is not answered.
    fn miss(&mut self, query: usize) {
        let stream = usize::from(self.report.queries[query].stream);
        self.counts[stream].over += 1;
        self.counts[stream].missed += 1;
    }

    /// Tells the choices how much a variant has to do.
    pub(super) fn update_load(&mut self, variant: VariantIndex) {
        let turns = self
            .scenario
            .catalog
            .variant(variant)
            .profile
            .sharing
            .takes_turns();
        let mut load = VariantLoad {
            // Where batches take turns, what slows them down is known as it happens.
            slowdown: if turns {
                1.0
            } else {
                self.slowdowns[variant.get()]
            },
            ..VariantLoad::INACTIVE
        };
        let groups = self.groups.values().filter(|g| g.variant == variant);
        let running = groups.clone().filter(|g| g.loaded > 0);
        let others = running.map(|g| self.others(g.device, variant));
        load.others = others.min().unwrap_or_default();
        for group in groups {
            load.instances += group.loaded;
            load.queued += group.queue.len() as u32;
            load.running += group.running;
        }
        self.choices.set_load(variant, load);
    }

    /// Takes the end of a loading: the instance answers from now on, if it is still wanted.
    pub(super) fn loaded(&mut self, device: DeviceSlot, variant: VariantIndex) {
        let wanted = u32::from(self.hosted.on(variant, device));
        let group = self.group(device, variant);
        group.loaded = (group.loaded + 1).min(wanted);
        self.update_load(variant);
        self.dispatch_backlog();
        self.start(device);
    }

    /// Chooses again for the queries that nothing ran for.
    pub(super) fn dispatch_backlog(&mut self) {
        for waiting in std::mem::take(&mut self.backlog) {
            self.dispatch(waiting);
        }
    }
}

/// Returns the goals of a query that has waited, with the time that is left of its latency.
fn left(goals: &QueryGoals, now: Duration, waiting: &WaitingQuery) -> QueryGoals {
    let left = waiting.deadline.map(|deadline| {
        // One that is late is asked for at once, which nothing meets.
        let left = deadline.saturating_sub(now).max(Duration::from_nanos(1));
        LatencyGoal::new(left).unwrap_or(LatencyGoal::MOST)
    });
    QueryGoals {
        latency: left,
        ..*goals
    }
}
