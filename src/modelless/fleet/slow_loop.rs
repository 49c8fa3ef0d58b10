//! The slow loop: once a second, observations become states, and the policy decides.

use super::clock::FleetEvent;
use super::group::HostedGroup;
use super::report::TickRecord;
use super::run::{FleetRun, TICK};
use super::workers::{KindSeen, WorkerStep};
use crate::placement::{DeviceSlot, InstanceChange};
use crate::policies::{PolicyDecision, Situation, TaskDemand, WatchedVariant};
use crate::quantities::QueryRate;
use crate::states::{DeviceObservation, DeviceWatch, VariantObservation, VariantState};
use crate::variants::{DeviceKindIndex, DeviceSharing, Variant, VariantIndex};

/// The weight of the last second in the mean slowdown.
const LAST_SECOND: f64 = 0.25;
/// The observation of a variant without instances.
const UNSEEN: VariantObservation = VariantObservation {
    instances: 0,
    utilisation: 0.0,
    queued: 0,
    slowdown: 1.0,
};

impl FleetRun<'_> {
    pub(super) fn tick(&mut self) {
        let now = self.clock.now();
        self.pay();
        let watched = self.watch();
        let demands = self.demands();
        let decision = self.policy.decide(&Situation {
            now,
            rules: self.scenario.rules,
            catalog: &self.scenario.catalog,
            hosted: &self.hosted,
            demands: &demands,
            watched: &watched,
            instances: &self.instances.states(),
            slowdowns: &self.slowdowns(),
        });
        self.apply(&decision.changes);
        self.scale_workers(&decision);
        self.record(decision);
        self.dispatch_backlog();
        self.start_everywhere();
        if now + TICK <= self.scenario.end {
            self.clock.plan(now + TICK, FleetEvent::Tick);
        }
    }

    /// Adds the cost of the last second.
    fn pay(&mut self) {
        let second = TICK.as_secs_f64();
        let workers = self.scenario.workers.iter().enumerate();
        let workers =
            workers.map(|(at, kind)| kind.price.get() * f64::from(self.scaling.count(at)));
        self.report.worker_cost += second * workers.sum::<f64>();
        self.report.instance_cost += second * self.hosted.cost(&self.scenario.catalog);
    }

    /// Observes each variant, over all its devices, each instance and each device.
    fn watch(&mut self) -> Vec<WatchedVariant> {
        let variants = self.watches.len();
        let mut seen = vec![UNSEEN; variants];
        let mut places = vec![0.0; variants];
        let mut times = vec![(0.0, 0.0); self.utilisation.len()];
        let mut instances = Vec::new();
        self.utilisation.fill(0.0);
        for group in self.groups.values_mut() {
            let spec = self.scenario.catalog.variant(group.variant);
            let (at, device) = (group.variant.get(), usize::from(group.device.0));
            let (own, of_device) = shares(group, spec);
            let (busy, of_group) = observed(group, spec);
            places[at] += own;
            self.utilisation[device] += busy * of_device;
            times[device].0 += busy;
            times[device].1 += of_group.1;
            let (seen, of_group) = (&mut seen[at], of_group.0);
            seen.instances += of_group.instances;
            seen.utilisation += busy;
            seen.queued += of_group.queued;
            seen.slowdown = seen.slowdown.max(of_group.slowdown);
            let utilisation = busy / f64::max(own, 1e-9);
            let of_group = VariantObservation {
                utilisation,
                ..of_group
            };
            if group.loaded > 0 {
                instances.push((group.device, group.variant, of_group));
            }
        }
        for (seen, places) in seen.iter_mut().zip(places) {
            seen.utilisation /= f64::max(places, 1e-9);
        }
        self.instances.observe(self.clock.now(), instances);
        self.watch_devices(&times);
        self.observe(&seen)
    }

    /// Observes the times of batches on each device, and their times on undisturbed devices.
    fn watch_devices(&mut self, times: &[(f64, f64)]) {
        let now = self.clock.now();
        for (watch, (took, profiled)) in self.device_watches.iter_mut().zip(times) {
            let slowdown = (*profiled > 0.0).then(|| took / profiled);
            let others = None;
            watch.observe(now, &DeviceObservation { slowdown, others });
        }
    }

    /// Returns the slowdown of each device.
    fn slowdowns(&self) -> Vec<f64> {
        self.device_watches
            .iter()
            .map(DeviceWatch::slowdown)
            .collect()
    }

    fn observe(&mut self, seen: &[VariantObservation]) -> Vec<WatchedVariant> {
        let now = self.clock.now();
        let mut watched = Vec::with_capacity(seen.len());
        for (at, seen) in seen.iter().enumerate() {
            let index = VariantIndex(at as u32);
            if let Some(change) = self.watches[at].observe(now, seen) {
                self.report.changes.push((index, change));
            }
            if seen.instances > 0 {
                self.update_load(index);
            }
            let served = f64::from(std::mem::take(&mut self.served[at])) / TICK.as_secs_f64();
            watched.push(WatchedVariant {
                loading: self.hosted.total(index).saturating_sub(seen.instances),
                state: self.watches[at].state(),
                served: QueryRate::new(served).unwrap_or(QueryRate::ZERO),
            });
        }
        watched
    }

    fn demands(&mut self) -> Vec<TaskDemand> {
        let streams = self.scenario.streams.iter().zip(&mut self.counts);
        let each = streams.map(|(stream, counts)| counts.demand(stream, TICK));
        each.collect()
    }

    /// Loads and unloads instances. Queries waiting for removed instances are sent to others.
    fn apply(&mut self, changes: &[InstanceChange]) {
        let pinned = |change: &&InstanceChange| {
            change.instances > 0 || !self.is_last_of_a_job(change.variant)
        };
        let changes: Vec<InstanceChange> = changes.iter().filter(pinned).copied().collect();
        // An instance kept for a job may take the room of a new one, which is then not loaded.
        let applied = self.hosted.apply(&self.scenario.catalog, &changes);
        debug_assert!(applied.is_ok() || !self.jobs.is_empty(), "{changes:?}");
        for change in &changes {
            let InstanceChange {
                variant,
                device,
                instances,
            } = *change;
            match instances > 0 {
                true => self.load(device, variant, instances.unsigned_abs()),
                false => self.unload(device, variant),
            }
        }
    }

    /// Returns whether a job needs the only instance of a variant.
    fn is_last_of_a_job(&self, variant: VariantIndex) -> bool {
        let mut jobs = self.jobs.iter();
        let needed = jobs.any(|(v, job)| *v == variant && !job.is_finished());
        needed && self.hosted.total(variant) == 1
    }

    pub(super) fn load(&mut self, device: DeviceSlot, variant: VariantIndex, instances: u32) {
        let profile = &self.scenario.catalog.variant(variant).profile;
        let now = self.clock.now();
        // Instances that share a device's time share their weights.
        let is_there = self.group(device, variant).loaded > 0;
        let ready = match is_there && profile.sharing.takes_turns() {
            true => now,
            false => now + profile.loading,
        };
        for _ in 0..instances {
            self.clock.plan(ready, FleetEvent::Loaded(device, variant));
        }
    }

    fn unload(&mut self, device: DeviceSlot, variant: VariantIndex) {
        let left = u32::from(self.hosted.count_on(variant, device));
        let group = self.group(device, variant);
        group.loaded = group.loaded.min(left);
        let waiting = match group.loaded {
            0 => std::mem::take(&mut group.queue),
            _ => Default::default(),
        };
        self.update_load(variant);
        for query in waiting {
            self.dispatch(query);
        }
    }

    fn scale_workers(&mut self, decision: &PolicyDecision) {
        let now = self.clock.now();
        let starts = self
            .scaling
            .starts(&decision.lacking, |kind| self.seen_of(kind));
        let is_idle = |machine: usize| {
            let mut devices = self.devices[machine].iter();
            devices.all(|device| self.hosted.hosted_on(*device).next().is_none())
        };
        let stops = self.scaling.stops(now, is_idle);
        for step in starts.into_iter().chain(stops) {
            match step {
                WorkerStep::Start(kind) => {
                    let machine = self.scaling.start(kind);
                    let starting = self.scenario.workers[kind].starting;
                    self.clock
                        .plan(now + starting, FleetEvent::WorkerStarted(machine));
                }
                WorkerStep::Stop(machine) => {
                    for device in &self.devices[machine] {
                        self.hosted.set_open(*device, false);
                    }
                }
            }
        }
    }

    fn seen_of(&self, kind: DeviceKindIndex) -> KindSeen {
        let mut seen = KindSeen::default();
        let devices = self.hosted.devices();
        for device in devices.filter(|d| self.hosted.kind(*d) == kind && self.hosted.is_open(*d)) {
            let has = |state| {
                let mut hosted = self.hosted.hosted_on(device);
                u32::from(hosted.any(|(v, _)| self.instances.state(v, device) == state))
            };
            seen.devices += 1;
            seen.overloaded += has(VariantState::Overloaded);
            seen.interfered += has(VariantState::Interfered);
        }
        seen
    }

    fn record(&mut self, decision: PolicyDecision) {
        let open = self.hosted.devices().filter(|d| self.hosted.is_open(*d));
        let parts: Vec<f64> = open.map(|d| self.utilisation[usize::from(d.0)]).collect();
        let kinds = 0..self.scenario.workers.len();
        self.report.ticks.push(TickRecord {
            at: self.clock.now(),
            workers: kinds.map(|kind| self.scaling.count(kind)).collect(),
            instance_cost: self.hosted.cost(&self.scenario.catalog),
            utilisation: parts.iter().sum::<f64>() / parts.len().max(1) as f64,
            offline_rows: self.offline_rows(),
            decision,
        });
    }
}

/// Returns the device time of a group's instances, and the share of the device that one of their
/// batches takes.
fn shares(group: &HostedGroup, spec: &Variant) -> (f64, f64) {
    let share = spec.profile.share.fraction();
    match spec.profile.sharing {
        DeviceSharing::Space => (
            f64::from(group.lanes(spec)),
            share / f64::from(spec.profile.lanes.get()),
        ),
        DeviceSharing::Time => (f64::from(group.loaded) * share, 1.0),
        DeviceSharing::Unreserved => (f64::from(group.loaded), 1.0),
    }
}

/// Returns the time of a group's batches in this second, its observation without the utilisation,
/// and the time that the same batches take on an undisturbed device. Starts the next second.
fn observed(group: &mut HostedGroup, spec: &Variant) -> (f64, (VariantObservation, f64)) {
    let second = TICK.as_secs_f64();
    let busy = std::mem::take(&mut group.busy).as_secs_f64() / second;
    let profiled = std::mem::take(&mut group.profiled).as_secs_f64() / second;
    let slowdown = group.slowdown();
    let pace = match spec.profile.sharing.takes_turns() {
        // The queue of the device shows the waits for other variants.
        true if profiled > 0.0 => busy / profiled,
        true => 1.0,
        false => slowdown,
    };
    group.pace += LAST_SECOND * (pace - group.pace);
    let seen = VariantObservation {
        instances: group.loaded,
        queued: group.queue.len() as u32,
        slowdown,
        ..UNSEEN
    };
    (busy, (seen, profiled))
}
