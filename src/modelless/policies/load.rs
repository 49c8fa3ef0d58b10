//! The load of a task, and the part of it that instances leave unserved.

use std::ops::Range;

use super::served::{DemandFlow, NOTHING, unserved};
use super::situation::{Situation, TaskDemand};
use crate::placement::HostedInstances;
use crate::variants::{TaskIndex, VariantIndex};

/// The demands of a task with the required headroom, and the capacity of its variants.
///
/// The capacity of an instance counts once: demands with different goals share it. Demands whose
/// goals no variant meets are left out, as no instance serves them.
pub(super) struct TaskLoad<'a> {
    range: Range<usize>,
    /// The fewest suiting variants first: the others take the capacity that these leave.
    demands: Vec<&'a TaskDemand>,
    flows: Vec<DemandFlow>,
    /// The rate of an instance of each variant.
    rates: Vec<f64>,
}

impl<'a> TaskLoad<'a> {
    /// Returns the load of a task, with `slack` as the required ratio of capacity to load.
    pub(super) fn new(situation: &Situation<'a>, task: TaskIndex, slack: f64) -> Self {
        let range = situation.catalog.range(task);
        let variants = &situation.catalog.variants()[range.clone()];
        let flow = |demand: &TaskDemand| DemandFlow {
            rate: demand.rate.get() * slack,
            worth: 1.0,
            suiting: (0..variants.len())
                .filter(|at| demand.suits(&variants[*at]))
                .collect(),
        };
        let asked = situation.demands.iter().filter(|d| d.task == task);
        let pairs = asked.map(|demand| (demand, flow(demand)));
        let mut pairs: Vec<(&TaskDemand, DemandFlow)> =
            pairs.filter(|(_, flow)| !flow.suiting.is_empty()).collect();
        pairs.sort_by_key(|(_, flow)| flow.suiting.len());
        let (demands, flows) = pairs.into_iter().unzip();
        TaskLoad {
            rates: variants.iter().map(|v| v.saturation().get()).collect(),
            range,
            demands,
            flows,
        }
    }

    /// Returns the demands.
    pub(super) fn demands(&self) -> impl Iterator<Item = &'a TaskDemand> + use<'a, '_> {
        self.demands.iter().copied()
    }

    /// Returns the demands as flows to variants.
    pub(super) fn into_flows(self) -> Vec<DemandFlow> {
        self.flows
    }

    /// Returns the variants that suit all of some demands, from the cheapest query to the most
    /// expensive.
    pub(super) fn suiting_all(&self, demands: &[usize]) -> Vec<VariantIndex> {
        let suits = |at: &usize| demands.iter().all(|d| self.flows[*d].suiting.contains(at));
        let all = (0..self.rates.len()).filter(suits);
        all.map(|at| self.index(at)).collect()
    }

    /// Returns the variants that suit a demand.
    pub(super) fn suiting_any(&self) -> impl Iterator<Item = VariantIndex> {
        let suits = |at: &usize| self.flows.iter().any(|flow| flow.suiting.contains(at));
        let all = (0..self.rates.len()).filter(suits);
        all.map(|at| self.index(at))
    }

    fn index(&self, at: usize) -> VariantIndex {
        VariantIndex((self.range.start + at) as u32)
    }

    /// Returns the unserved rate of each demand if these instances run.
    pub(super) fn unserved(&self, hosted: &HostedInstances) -> Vec<f64> {
        unserved(&self.flows, &self.capacity(hosted)).left
    }

    /// Returns the unserved rate of each demand if these instances run, without one of a variant.
    pub(super) fn unserved_without(
        &self,
        hosted: &HostedInstances,
        fewer: VariantIndex,
    ) -> Vec<f64> {
        let mut capacity = self.capacity(hosted);
        let at = fewer.get() - self.range.start;
        capacity[at] = (capacity[at] - self.rates[at]).max(0.0);
        unserved(&self.flows, &capacity).left
    }

    fn capacity(&self, hosted: &HostedInstances) -> Vec<f64> {
        let each = self.rates.iter().enumerate();
        each.map(|(at, rate)| f64::from(hosted.total(self.index(at))) * rate)
            .collect()
    }
}

/// Returns the demands with an unserved rate.
pub(super) fn short(left: &[f64]) -> Vec<usize> {
    let each = left.iter().enumerate();
    each.filter(|(_, left)| **left > NOTHING)
        .map(|(at, _)| at)
        .collect()
}
