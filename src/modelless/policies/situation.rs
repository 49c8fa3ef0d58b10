//! The inputs of a policy's decision.

use std::time::Duration;

use crate::goals::QueryGoals;
use crate::placement::{DeviceSlot, HostedInstances};
use crate::quantities::{QueryCost, QueryRate};
use crate::states::{InstanceState, VariantState};
use crate::variants::{TaskIndex, Variant, VariantCatalog, VariantIndex};

/// The headroom of policies: capacity is at least the load times this factor (INFaaS §5, which
/// swept 1.01 to 1.1).
pub const SLACK: f64 = 1.05;

/// Queries of a task with the same goals.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskDemand {
    /// The task.
    pub task: TaskIndex,
    /// Their goals.
    pub goals: QueryGoals,
    /// The arrival rate.
    pub rate: QueryRate,
    /// The mean arrival rate over minutes.
    pub usual: QueryRate,
    /// The share of recent queries that missed a goal.
    pub missed: f64,
    /// The worth of an answer within its goals.
    pub worth: QueryCost,
}

impl TaskDemand {
    /// Returns whether a variant meets the goals when it is not overloaded.
    pub fn suits(&self, variant: &Variant) -> bool {
        self.goals.suits(variant)
    }
}

/// The observed state of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchedVariant {
    /// Its state.
    pub state: VariantState,
    /// The rate of its answers.
    pub served: QueryRate,
    /// The number of loading instances.
    pub loading: u32,
}

impl WatchedVariant {
    /// A variant that never ran.
    pub const UNSEEN: WatchedVariant = WatchedVariant {
        state: VariantState::Inactive,
        served: QueryRate::ZERO,
        loading: 0,
    };
}

/// The rules for changes of instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// The minimum time for which an instance is superfluous before it is removed, so that a
    /// fluctuating load does not make the allocation fluctuate.
    pub hold_off: Duration,
    /// Whether all changes take effect at once, when the new instances are loaded, so that replaced
    /// instances need not stay.
    pub at_once: bool,
}

/// The inputs of a policy's decision at one time.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The time since the start.
    pub now: Duration,
    /// The rules for changes.
    pub rules: ChangeRules,
    /// All variants.
    pub catalog: &'a VariantCatalog,
    /// The running and loading instances.
    pub hosted: &'a HostedInstances,
    /// The arriving queries.
    pub demands: &'a [TaskDemand],
    /// The observed state of each variant.
    pub watched: &'a [WatchedVariant],
    /// The observed states of instances.
    pub instances: &'a [InstanceState],
    /// The slowdown of each device by other programs; 1 if it is undisturbed or unknown.
    pub slowdowns: &'a [f64],
}

impl<'a> Situation<'a> {
    /// Returns the variants that meet a demand's goals, from the cheapest query to the most
    /// expensive.
    pub fn suiting(
        &self,
        demand: &'a TaskDemand,
    ) -> impl Iterator<Item = (VariantIndex, &'a Variant)> + use<'a> {
        let catalog = self.catalog;
        let range = catalog.range(demand.task);
        let indices = range.map(|at| VariantIndex(at as u32));
        let each = indices.map(move |index| (index, catalog.variant(index)));
        each.filter(|(_, variant)| demand.suits(variant))
    }

    /// Returns the slowdown of a device by other programs; 1 if it is undisturbed or unknown.
    pub fn slowdown(&self, device: DeviceSlot) -> f64 {
        let known = self.slowdowns.get(usize::from(device.0)).copied();
        known.unwrap_or(1.0).max(1.0)
    }

    /// Returns whether other programs slow down a device.
    pub fn is_disturbed(&self, device: DeviceSlot) -> bool {
        self.slowdown(device) > 1.0
    }

    /// Returns the slowdown of a device relative to the calmest one of its kind.
    pub fn relative_slowdown(&self, device: DeviceSlot) -> f64 {
        let kind = self.hosted.kind(device);
        let devices = self.hosted.devices();
        let same = devices.filter(|other| self.hosted.kind(*other) == kind);
        let least = same.map(|other| self.slowdown(other));
        self.slowdown(device) / least.fold(f64::INFINITY, f64::min)
    }

    /// Returns whether the batches of a variant suffer interference on a device.
    pub fn is_interfered(&self, variant: VariantIndex, device: DeviceSlot) -> bool {
        let is_it = |seen: &InstanceState| (seen.variant, seen.device) == (variant, device);
        let seen = self.instances.iter().find(|seen| is_it(seen));
        seen.is_some_and(|seen| seen.state == VariantState::Interfered)
    }

    /// Returns whether an instance of a task is loading. Instances that it replaces stay until it
    /// is loaded.
    pub fn is_loading(&self, task: TaskIndex) -> bool {
        let range = self.catalog.range(task);
        let watched = self.watched.get(range).unwrap_or_default();
        watched.iter().any(|w| w.loading > 0)
    }
}
