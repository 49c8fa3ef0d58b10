//! Queries to instances.

use std::time::Duration;

use super::group::WaitingQuery;
use super::run::FleetRun;
use crate::choice::{ChoiceRefusal, ChosenVariant, VariantLoad};
use crate::goals::{LatencyGoal, QueryGoals};
use crate::placement::DeviceSlot;
use crate::variants::VariantIndex;

impl FleetRun<'_> {
    /// Takes a query to the variant that is chosen for it, or keeps it until one runs.
    pub(super) fn dispatch(&mut self, waiting: WaitingQuery) {
        let stream = self.report.queries[waiting.query].stream;
        let stream = &self.scenario.streams[usize::from(stream)];
        match self.choose(stream.task, &left(&stream.goals, self.clock.now(), &waiting)) {
            Ok(chosen) => match self.least_loaded(chosen.variant) {
                Some(device) => self.enqueue(device, chosen.variant, waiting),
                None => self.backlog.push(waiting),
            },
            Err(_) => self.miss(waiting.query),
        }
    }

    /// Chooses a variant; where lateness is no reason to refuse, also one that answers late.
    fn choose(
        &self,
        task: crate::variants::TaskIndex,
        goals: &QueryGoals,
    ) -> Result<ChosenVariant, ChoiceRefusal> {
        let chosen = self.choices.choose(task, goals);
        if self.scenario.refuses_late || chosen.is_ok() {
            return chosen;
        }
        let patient = QueryGoals {
            latency: None,
            ..*goals
        };
        self.choices.choose(task, &patient)
    }

    /// Returns the device on which a variant has the least to do for each instance.
    fn least_loaded(&self, variant: VariantIndex) -> Option<DeviceSlot> {
        let groups = self.groups.values().filter(|g| g.variant == variant && g.loaded > 0);
        let per_instance = |waits: usize, running: u32, loaded: u32| {
            (waits as u64 + u64::from(running)) * 1_000_000 / u64::from(loaded)
        };
        let least = groups.min_by_key(|g| {
            let taken = self.taken[usize::from(g.device.0)];
            (per_instance(g.queue.len(), g.running, g.loaded), taken, g.device)
        });
        least.map(|g| g.device)
    }

    fn enqueue(&mut self, device: DeviceSlot, variant: VariantIndex, waiting: WaitingQuery) {
        self.group(device, variant).queue.push_back(waiting);
        self.start(device);
        self.update_load(variant);
    }

    /// Notes that a query is not answered.
    fn miss(&mut self, query: usize) {
        let stream = usize::from(self.report.queries[query].stream);
        self.counts[stream].over += 1;
        self.counts[stream].missed += 1;
    }

    /// Tells the choices how much a variant has to do.
    pub(super) fn update_load(&mut self, variant: VariantIndex) {
        let mut load = VariantLoad {
            slowdown: self.slowdowns[variant.get()],
            ..VariantLoad::INACTIVE
        };
        for group in self.groups.values().filter(|g| g.variant == variant) {
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
