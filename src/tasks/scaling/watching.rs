//! The states of variants, instances and devices of a machine.

use std::time::Duration;

use divisi_modelless::placement::DeviceSlot;
use divisi_modelless::policies::WatchedVariant;
use divisi_modelless::quantities::QueryRate;
use divisi_modelless::states::{
    DeviceObservation, DeviceWatch, InstanceWatches, StateThresholds, VariantObservation,
    VariantState, VariantWatch,
};
use divisi_modelless::variants::VariantIndex;

use super::busy::GroupSeen;
use super::evidence::HostedVariants;
use super::hosted_models::device;
use crate::served::ServedTasks;

/// The observations of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedWork<'a> {
    /// The work of each group of variants.
    pub groups: &'a [GroupSeen],
    /// The queued samples of each group.
    pub queued: &'a [u32],
    /// The share of each device's cores that other programs took, or `None` if unknown.
    pub others: &'a [Option<f64>],
}

/// The work of a group that is not observed.
static IDLE: GroupSeen = GroupSeen::IDLE;

impl<'a> ObservedWork<'a> {
    fn group(&self, at: usize) -> &'a GroupSeen {
        self.groups.get(at).unwrap_or(&IDLE)
    }
}

/// The states of variants, instances and devices, updated by observations.
#[derive(Clone, Debug)]
pub(super) struct ScalingWatches {
    variants: Vec<VariantWatch>,
    pub(super) instances: InstanceWatches,
    devices: Vec<DeviceWatch>,
}

impl ScalingWatches {
    pub(super) fn new(variants: usize, devices: usize) -> Self {
        let thresholds = StateThresholds::default();
        ScalingWatches {
            variants: vec![VariantWatch::new(thresholds); variants],
            instances: InstanceWatches::new(thresholds),
            devices: vec![DeviceWatch::new(thresholds); devices],
        }
    }

    /// Returns the state of each variant.
    pub(super) fn states(&self) -> impl Iterator<Item = VariantState> {
        self.variants.iter().map(VariantWatch::state)
    }

    /// Returns the slowdown of each device by other programs.
    pub(super) fn slowdowns(&self) -> Vec<f64> {
        self.devices.iter().map(DeviceWatch::slowdown).collect()
    }

    /// Records the observations of an interval, in which these instances were hosted. Returns the
    /// observed variants.
    pub(super) fn observe(
        &mut self,
        now: Duration,
        interval: Duration,
        tasks: &ServedTasks,
        served: HostedVariants<'_>,
        seen: ObservedWork<'_>,
    ) -> Vec<WatchedVariant> {
        let seconds = interval.as_secs_f64().max(1e-3);
        let observation = |index: VariantIndex, instances: u32, slowdown: f64| {
            let group = tasks.group_of(index);
            let planned = time_of(tasks, served, group);
            VariantObservation {
                instances,
                utilisation: seen.group(group).busy / seconds / planned.max(1e-9),
                queued: seen.queued.get(group).copied().unwrap_or(0),
                slowdown,
            }
        };
        let of_instance = |slot: DeviceSlot, index: VariantIndex, count: u16| {
            let group = seen.group(tasks.group_of(index));
            let slowdown = group.slowdown_on(device(slot)).unwrap_or(group.slowdown);
            (slot, index, observation(index, count.into(), slowdown))
        };
        let hosted = served.hosted;
        let places = hosted.devices().flat_map(|slot| {
            let on = hosted.hosted_on(slot);
            on.map(move |(index, count)| (slot, index, count))
        });
        let instances = places.map(|(slot, index, count)| of_instance(slot, index, count));
        self.instances.observe(now, instances);
        self.watch_devices(now, seen);
        let each = self.variants.iter_mut().enumerate();
        let watched = each.map(|(at, watch)| {
            let index = VariantIndex(at as u32);
            let (instances, group) = (hosted.total(index), seen.group(tasks.group_of(index)));
            watch.observe(now, &observation(index, instances, group.slowdown));
            let answered = if instances == 0 { 0 } else { group.samples };
            WatchedVariant {
                loading: 0,
                state: watch.state(),
                served: QueryRate::new(answered as f64 / seconds).unwrap_or(QueryRate::ZERO),
            }
        });
        watched.collect()
    }

    /// Observes devices by the groups with the least slowdown there: a group alone may be slow
    /// because of its profile.
    fn watch_devices(&mut self, now: Duration, seen: ObservedWork<'_>) {
        for (at, watch) in self.devices.iter_mut().enumerate() {
            let groups = seen.groups.iter();
            let slowdowns = groups.filter_map(|g| g.slowdown_on(device(DeviceSlot(at as u16))));
            let observation = DeviceObservation {
                slowdown: slowdowns.min_by(f64::total_cmp),
                others: seen.others.get(at).copied().flatten(),
            };
            watch.observe(now, &observation);
        }
    }
}

/// Returns the device time of the instances of a group.
fn time_of(tasks: &ServedTasks, served: HostedVariants<'_>, group: usize) -> f64 {
    let HostedVariants { catalog, hosted } = served;
    let variants = tasks.groups()[group].variants.iter();
    let shares = variants.map(|variant| {
        let share = catalog.variant(*variant).profile.share.fraction();
        f64::from(hosted.total(*variant)) * share
    });
    shares.sum()
}
