//! INFaaS's greedy heuristic (§4.2.2): replicate, upgrade or downgrade, whichever costs least by
//! the objective of its integer program (§4.2.1), the sum of δ × (C + λ × T_load).

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::hold_off::HoldOffs;
use super::load::{TaskLoad, short};
use super::policy::Policy;
use super::scaling::{DecisionDraft, instances_for};
use super::situation::{SLACK, Situation, TaskDemand};
use crate::variants::{TaskIndex, Variant, VariantIndex};

/// Scales each task by the cheapest of replicating and switching variants.
#[derive(Clone, Debug)]
pub struct InfaasGreedy {
    /// λ: the cost per second for each second of loading.
    pub lambda: f64,
    hold_offs: HoldOffs,
}

impl InfaasGreedy {
    /// Creates the policy with λ, the cost per second for each second of loading. The paper does
    /// not give its value: large if the load is hard to predict.
    pub fn new(lambda: f64) -> Self {
        InfaasGreedy {
            lambda,
            hold_offs: HoldOffs::default(),
        }
    }

    /// Returns the objective of a change by `count` instances.
    fn cost(&self, variant: &Variant, count: u32) -> f64 {
        let loading = self.lambda * variant.profile.loading.as_secs_f64();
        f64::from(count) * (variant.profile.cost.get() + loading)
    }
}

impl Policy for InfaasGreedy {
    fn name(&self) -> &'static str {
        "infaas"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let mut draft = DecisionDraft::new(situation);
        for task in situation.catalog.tasks() {
            let load = TaskLoad::new(situation, task, SLACK);
            if load.demands().next().is_none() {
                continue;
            }
            draft.mitigate(task, &load);
            if !self.scale_up(&mut draft, &load) {
                self.scale_down(&mut draft, task, &load);
            }
        }
        draft.finish()
    }
}

impl InfaasGreedy {
    /// Adds capacity for each demand that the instances leave unserved, those of this decision
    /// included. Returns whether there was one.
    fn scale_up(&mut self, draft: &mut DecisionDraft<'_>, load: &TaskLoad<'_>) -> bool {
        let mut is_short = false;
        for (at, demand) in load.demands().enumerate() {
            let missing = load.unserved(&draft.hosted)[at];
            if !short(&[missing]).is_empty() {
                is_short = true;
                self.add_for(draft, demand, missing);
            }
        }
        is_short
    }

    /// Considers each variant for the missing capacity and takes the cheapest one with room. If no
    /// variant has room, it takes the possible part of the cheapest.
    fn add_for(&mut self, draft: &mut DecisionDraft<'_>, demand: &TaskDemand, missing: f64) {
        let situation = draft.situation;
        let mut options: Vec<(VariantIndex, u32, f64)> = Vec::new();
        for (index, variant) in situation.suiting(demand) {
            self.hold_offs.needed(index);
            let count = instances_for(missing, variant.saturation().get()).max(1);
            options.push((index, count, self.cost(variant, count)));
        }
        options.sort_by(|a, b| a.2.total_cmp(&b.2));
        let mut open = true;
        for (index, count, cost) in &options {
            let outcome = match (open, draft.has_room(*index, *count)) {
                (false, _) => ActionOutcome::Beaten,
                (true, false) => ActionOutcome::NoRoom,
                (true, true) => {
                    draft.place(*index, *count);
                    open = false;
                    ActionOutcome::Taken
                }
            };
            let action = action(situation, *index, *count);
            draft.decision.consider(demand.task, action, *cost, outcome);
        }
        if open && let Some((index, count, _)) = options.first() {
            draft.place(*index, *count);
        }
    }

    /// Removes one instance, or replaces all instances of a variant by a cheaper one, once the rest
    /// has served all demands with the headroom for the variant's loading time.
    fn scale_down(&mut self, draft: &mut DecisionDraft<'_>, task: TaskIndex, load: &TaskLoad<'_>) {
        let situation = draft.situation;
        if situation.is_loading(task) {
            let (keep, none) = (ScalingAction::Keep, ActionOutcome::Taken);
            return draft.decision.consider(task, keep, 0.0, none);
        }
        for index in running(situation, load) {
            let left = load.unserved_without(&draft.hosted, index);
            let cheaper = match short(&left) {
                none if none.is_empty() => None,
                short => {
                    let found = self.downgrade(draft, load, index, &short, left.iter().sum());
                    if found.is_none() {
                        self.keep(draft, task, index);
                        continue;
                    }
                    found
                }
            };
            if self.remove(draft, task, index, cheaper) {
                return;
            }
        }
    }

    /// Records that an instance cannot be removed.
    fn keep(&mut self, draft: &mut DecisionDraft<'_>, task: TaskIndex, index: VariantIndex) {
        self.hold_offs.needed(index);
        let (action, spared) = removal(draft.situation, index);
        let outcome = ActionOutcome::TooLittleLeft;
        draft.decision.consider(task, action, spared, outcome);
    }

    /// Removes an instance, or loads the `cheaper` variant that replaces it, if the hold-off is
    /// over. Returns whether it is.
    fn remove(
        &mut self,
        draft: &mut DecisionDraft<'_>,
        task: TaskIndex,
        index: VariantIndex,
        cheaper: Option<(VariantIndex, u32)>,
    ) -> bool {
        let (action, spared) = removal(draft.situation, index);
        if let Some(from) = self.hold_offs.superfluous(draft.situation, index) {
            let outcome = ActionOutcome::HoldOff(from);
            draft.decision.consider(task, action, spared, outcome);
            return false;
        }
        let taken = ActionOutcome::Taken;
        match cheaper {
            Some((cheaper, count)) => {
                draft.place(cheaper, count);
                let switch = ScalingAction::Switch(cheaper, count);
                draft.decision.consider(task, switch, 0.0, taken);
            }
            None => draft.take_away(index),
        }
        draft.decision.consider(task, action, spared, taken);
        true
    }

    /// Returns the cheapest other variant that serves the `short` demands in place of one instance,
    /// if it costs less. The instance itself is removed once the other one is loaded and leaves the
    /// headroom.
    fn downgrade(
        &self,
        draft: &DecisionDraft<'_>,
        load: &TaskLoad<'_>,
        index: VariantIndex,
        short: &[usize],
        missing: f64,
    ) -> Option<(VariantIndex, u32)> {
        let catalog = draft.situation.catalog;
        let replaced = catalog.variant(index).profile.cost.get();
        let others = load.suiting_all(short).into_iter();
        let others = others.filter(|other| *other != index).map(|other| {
            let variant = catalog.variant(other);
            let count = instances_for(missing, variant.saturation().get()).max(1);
            (other, count, f64::from(count) * variant.profile.cost.get())
        });
        let cheaper = others
            .filter(|(other, count, cost)| *cost < replaced && draft.has_room(*other, *count));
        let cheapest = cheaper.min_by(|a, b| a.2.total_cmp(&b.2));
        cheapest.map(|(other, count, _)| (other, count))
    }
}

/// Returns the running variants that suit a demand, the most expensive first.
fn running(situation: &Situation<'_>, load: &TaskLoad<'_>) -> Vec<VariantIndex> {
    let suiting = load.suiting_any();
    let mut running: Vec<VariantIndex> = suiting
        .filter(|index| situation.hosted.total(*index) > 0)
        .collect();
    let cost = |index: &VariantIndex| situation.catalog.variant(*index).profile.cost.get();
    running.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    running
}

/// Returns the removal of an instance and its cost.
fn removal(situation: &Situation<'_>, index: VariantIndex) -> (ScalingAction, f64) {
    let spared = -situation.catalog.variant(index).profile.cost.get();
    (ScalingAction::Remove(index, 1), spared)
}

fn action(situation: &Situation<'_>, index: VariantIndex, count: u32) -> ScalingAction {
    match situation.hosted.total(index) {
        0 => ScalingAction::Switch(index, count),
        _ => ScalingAction::Replicate(index, count),
    }
}
