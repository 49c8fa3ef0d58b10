//! Decides which variants are loaded: see [`VariantScaler`].

use std::sync::Arc;
use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::placement::{DeviceSlot, HostedInstances, InstanceChange};
use divisi_modelless::policies::{Policy, PolicyChoice, PolicyDecision, Situation, TaskDemand};
use divisi_modelless::states::VariantState;
use divisi_modelless::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};
use divisi_registry::registration::kind_name;
use divisi_runtime::device::Devices;

use super::evidence::HostedVariants;
use super::planned::{HOLD_OFF, OBJECTIVE, PlannedVariants, RULES};
use super::watching::{ObservedWork, ScalingWatches};
use crate::served::{RunningVariant, ServedTasks};

/// A decision and the instances to serve after it.
#[derive(Clone, Debug)]
pub struct ScalerStep {
    /// The decision of the policy.
    pub decision: PolicyDecision,
    /// The wanted instances, if they differ from the hosted ones.
    pub wanted: Option<HostedInstances>,
}

/// Decides which variants are hosted on the devices of a machine, from observations.
///
/// Policies plan with instances of a twentieth of a device's time. Removed instances are unloaded
/// after a hold-off, and every task keeps at least one instance.
pub struct VariantScaler {
    tasks: Arc<ServedTasks>,
    planned: PlannedVariants,
    choice: PolicyChoice,
    policy: Box<dyn Policy>,
    hosted: HostedInstances,
    watches: ScalingWatches,
    /// The variants that run offline jobs.
    of_jobs: Vec<VariantIndex>,
    /// The time of the last removal: instances are removed at most once per hold-off, whatever the
    /// policy.
    left: Option<Duration>,
    /// The time before which nothing is changed because the last change was refused.
    refused_until: Duration,
}

impl VariantScaler {
    /// Starts with the running variants.
    pub fn new(
        tasks: Arc<ServedTasks>,
        choice: PolicyChoice,
        devices: &Devices,
        running: &[RunningVariant],
    ) -> Self {
        let planned = PlannedVariants::new(tasks.catalog(), devices);
        let hosted = hosted(planned.catalog(), devices, running);
        let variants = planned.catalog().variants().len();
        VariantScaler {
            watches: ScalingWatches::new(variants, devices.iter().len()),
            policy: choice.with_objective(OBJECTIVE),
            of_jobs: Vec::new(),
            left: None,
            refused_until: Duration::ZERO,
            choice,
            hosted,
            planned,
            tasks,
        }
    }

    /// Returns the current policy.
    pub fn choice(&self) -> PolicyChoice {
        self.choice
    }

    /// Sets the policy.
    pub fn choose(&mut self, choice: PolicyChoice) {
        (self.choice, self.policy) = (choice, choice.with_objective(OBJECTIVE));
    }

    /// Returns the hosted instances.
    pub fn hosted(&self) -> &HostedInstances {
        &self.hosted
    }

    /// Returns the variants in the units of policies.
    pub(super) fn catalog(&self) -> &VariantCatalog {
        self.planned.catalog()
    }

    /// Returns a stream in the units of policies.
    pub(super) fn stream(&self, stream: &QueryStream) -> QueryStream {
        self.planned.stream(stream)
    }

    /// Returns whether the last change was refused a moment ago.
    pub(super) fn is_refused(&self, now: Duration) -> bool {
        now < self.refused_until
    }

    /// Returns the state of each variant.
    pub fn states(&self) -> impl Iterator<Item = VariantState> {
        self.watches.states()
    }

    /// Takes over the running variants after another change.
    pub fn follow(&mut self, devices: &Devices, running: &[RunningVariant]) {
        self.hosted = hosted(self.planned.catalog(), devices, running);
    }

    /// Hosts an instance of each of these variants on every device that has room and is not left to
    /// queries, unless the policy makes no changes. Offline jobs run in the gaps of all these
    /// devices.
    pub fn host_for_jobs(&mut self, variants: Vec<VariantIndex>) {
        self.of_jobs = variants;
    }

    /// Returns the instances with the first one of a variant, in place of one of several instances
    /// of another variant if all shares are taken. Returns `None` if it is hosted or has no room.
    pub fn with_one_more(&self, variant: VariantIndex) -> Option<HostedInstances> {
        let (catalog, mut more) = (self.planned.catalog(), self.hosted.clone());
        // The variant may be one of earlier registrations.
        if variant.get() >= catalog.variants().len() || more.total(variant) > 0 {
            return None;
        }
        if more.best_fit(catalog, variant).is_none() {
            let most = |device: &DeviceSlot| {
                let hosted = more.hosted_on(*device);
                let most = hosted.max_by_key(|(_, count)| *count);
                most.filter(|(_, count)| *count > 1)
            };
            let kind = catalog.variant(variant).device;
            let devices = more.devices().filter(|device| more.kind(*device) == kind);
            let fullest = devices.filter_map(|device| Some((device, most(&device)?)));
            let (device, (other, _)) = fullest.max_by_key(|(_, (_, count))| *count)?;
            more.remove(catalog, other, device).ok()?;
        }
        let device = more.best_fit(catalog, variant)?;
        more.add(catalog, variant, device).ok()?;
        Some(more)
    }

    /// Records that the wanted instances are hosted.
    pub fn applied(&mut self, now: Duration, hosted: HostedInstances) {
        let changes = hosted.changes_from(&self.hosted);
        if changes.iter().any(|change| change.instances < 0) {
            self.left = Some(now);
        }
        self.hosted = hosted;
    }

    /// Records that the wanted instances were refused. They are not tried again before a hold-off.
    pub fn refused(&mut self, now: Duration) {
        self.refused_until = now + HOLD_OFF;
    }

    /// Decides after an interval with its observations.
    pub fn decide(
        &mut self,
        now: Duration,
        interval: Duration,
        demands: &[TaskDemand],
        seen: ObservedWork<'_>,
    ) -> ScalerStep {
        let served = HostedVariants {
            catalog: self.planned.catalog(),
            hosted: &self.hosted,
        };
        let watched = (self.watches).observe(now, interval, &self.tasks, served, seen);
        let demands: Vec<TaskDemand> = demands.iter().map(|d| self.planned.demand(d)).collect();
        let decision = self.policy.decide(&Situation {
            now,
            rules: RULES,
            catalog: self.planned.catalog(),
            hosted: &self.hosted,
            demands: &demands,
            watched: &watched,
            instances: &self.watches.instances.states(),
            slowdowns: &self.watches.slowdowns(),
        });
        let wanted = match self.is_refused(now) {
            true => None,
            false => {
                let is_asked = demands.iter().any(|demand| demand.rate.get() > 0.0);
                self.wanted(now, &decision.changes, is_asked)
            }
        };
        ScalerStep { decision, wanted }
    }

    /// Returns the instances after all possible changes, or `None` if there are none.
    fn wanted(
        &self,
        now: Duration,
        changes: &[InstanceChange],
        is_asked: bool,
    ) -> Option<HostedInstances> {
        let is_due = self.left.is_none_or(|left| now >= left + HOLD_OFF);
        let (catalog, mut wanted) = (self.planned.catalog(), self.hosted.clone());
        let (leave, come): (Vec<InstanceChange>, Vec<InstanceChange>) = changes
            .iter()
            .copied()
            .partition(|c: &InstanceChange| c.instances < 0);
        let leaves = |change: &&InstanceChange| is_due && !self.of_jobs.contains(&change.variant);
        for change in leave.iter().filter(leaves) {
            let remove = |_| wanted.remove(catalog, change.variant, change.device);
            let _ = (0..change.instances.unsigned_abs()).try_for_each(remove);
        }
        for change in &come {
            let add = |_| wanted.add(catalog, change.variant, change.device);
            let _ = (0..change.instances.unsigned_abs()).try_for_each(add);
        }
        for change in &leave {
            if self.has_none(&wanted, change.variant) {
                let _ = wanted.add(catalog, change.variant, change.device);
            }
        }
        if self.choice != PolicyChoice::Static {
            self.add_for_jobs(&mut wanted, is_asked);
        }
        (wanted != self.hosted).then_some(wanted)
    }

    /// Adds the instances for offline jobs. If there are queries and several devices, the device
    /// with most of the other instances is left to queries.
    fn add_for_jobs(&self, wanted: &mut HostedInstances, is_asked: bool) {
        let others = |device: &DeviceSlot| {
            let on = wanted.hosted_on(*device);
            let others = on.filter(|(variant, _)| !self.of_jobs.contains(variant));
            others.map(|(_, count)| u32::from(count)).sum::<u32>()
        };
        let fullest = wanted.devices().max_by_key(others);
        let several = wanted.devices().count() > 1;
        let left = fullest.filter(|_| is_asked && several);
        for variant in &self.of_jobs {
            for device in wanted.devices().filter(|device| Some(*device) != left) {
                if wanted.count_on(*variant, device) == 0 {
                    let _ = wanted.add(self.planned.catalog(), *variant, device);
                }
            }
        }
    }

    /// Returns whether no variant of a variant's task has an instance.
    fn has_none(&self, hosted: &HostedInstances, variant: VariantIndex) -> bool {
        let mut all = self
            .planned
            .catalog()
            .range(self.planned.catalog().task_of(variant));
        all.all(|at| hosted.total(VariantIndex(at as u32)) == 0)
    }
}

/// Returns the instances of the running variants, one on each of their devices while there is room:
/// the cheapest of each task first, and tasks in turn.
fn hosted(
    catalog: &VariantCatalog,
    devices: &Devices,
    running: &[RunningVariant],
) -> HostedInstances {
    let kinds = devices.iter().map(|device| {
        let name = kind_name(device);
        let known = catalog.devices().iter().position(|kind| kind.name == name);
        // A kind without devices has no measurements, so nothing fits on it.
        DeviceKindIndex(known.unwrap_or(catalog.devices().len()) as u16)
    });
    let kinds: Vec<DeviceKindIndex> = kinds.collect();
    let mut hosted = HostedInstances::new(catalog, &kinds);
    for variant in in_turns(catalog, running) {
        for (device, _) in &variant.devices {
            let slot = DeviceSlot(device.get() as u16);
            let _ = hosted.add(catalog, variant.variant, slot);
        }
    }
    hosted
}

/// Returns variants in an order in which the first of each task comes before the second of any
/// task.
fn in_turns<'r>(
    catalog: &VariantCatalog,
    running: &'r [RunningVariant],
) -> impl Iterator<Item = &'r RunningVariant> {
    let mut running: Vec<&RunningVariant> = running.iter().collect();
    running.sort_by_key(|running| running.variant);
    let mut placed = vec![0_usize; catalog.tasks().count()];
    let mut turns: Vec<(usize, &RunningVariant)> = Vec::with_capacity(running.len());
    for variant in running {
        let turn = &mut placed[usize::from(catalog.task_of(variant.variant).0)];
        turns.push((*turn, variant));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, variant)| variant)
}
