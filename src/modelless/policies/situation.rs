//! All that a policy may decide by.

use std::time::Duration;

use crate::goals::QueryGoals;
use crate::placement::HostedInstances;
use crate::quantities::{QueryCost, QueryRate};
use crate::states::VariantState;
use crate::variants::{TaskIndex, Variant, VariantCatalog, VariantIndex};

/// The headroom that a policy keeps: capacity is at least the load times this (INFaaS §5, which
/// swept 1.01 to 1.1).
pub const SLACK: f64 = 1.05;

/// Queries of one task with the same goals.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskDemand {
    /// The task.
    pub task: TaskIndex,
    /// Their goals.
    pub goals: QueryGoals,
    /// How many arrive.
    pub rate: QueryRate,
    /// How many arrive in the mean over minutes.
    pub usual: QueryRate,
    /// The part of the last queries that missed a goal.
    pub missed: f64,
    /// The money that an answer within its goals is worth.
    pub worth: QueryCost,
}

impl TaskDemand {
    /// Whether a variant meets the goals where it is not overloaded.
    pub fn suits(&self, variant: &Variant) -> bool {
        let goals = &self.goals;
        goals.allows(variant) && goals.latency.is_none_or(|d| variant.p99() <= d.get())
    }
}

/// A variant as it is seen now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchedVariant {
    /// Its state.
    pub state: VariantState,
    /// The queries that it answers a second.
    pub served: QueryRate,
    /// Its instances that are being loaded.
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

/// How changes of instances are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// How long an instance is superfluous at least before it leaves, so that a load that swings does
    /// not make the allocation swing.
    pub hold_off: Duration,
    /// Whether all changes take effect at one instant, when what comes is loaded: nothing has to stay
    /// beside what replaces it.
    pub at_once: bool,
}

/// All that a policy may decide by, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The time since the beginning.
    pub now: Duration,
    /// How changes are made.
    pub rules: ChangeRules,
    /// All variants.
    pub catalog: &'a VariantCatalog,
    /// The instances that run or are being loaded.
    pub hosted: &'a HostedInstances,
    /// The queries that arrive.
    pub demands: &'a [TaskDemand],
    /// Each variant as it is seen.
    pub watched: &'a [WatchedVariant],
}

impl<'a> Situation<'a> {
    /// Returns the variants that meet a demand's goals, from the cheapest query to the dearest.
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

    /// Returns the state of a variant.
    pub fn state(&self, variant: VariantIndex) -> VariantState {
        self.watched
            .get(variant.get())
            .map_or_else(Default::default, |w| w.state)
    }

    /// Whether an instance of a task is being loaded. What it replaces is not unloaded before it is
    /// there.
    pub fn is_loading(&self, task: TaskIndex) -> bool {
        let range = self.catalog.range(task);
        let watched = self.watched.get(range).unwrap_or_default();
        watched.iter().any(|w| w.loading > 0)
    }

    /// Returns the queries a second that the running variants which meet a demand's goals can
    /// answer.
    pub fn capacity(&self, demand: &'a TaskDemand) -> f64 {
        let each = self.suiting(demand);
        let each = each.map(|(index, variant)| {
            f64::from(self.hosted.total(index)) * variant.saturation().get()
        });
        each.sum()
    }
}
