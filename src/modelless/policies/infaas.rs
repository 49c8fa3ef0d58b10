//! INFaaS's greedy heuristic (§4.2.2): replicate, upgrade or downgrade, whichever costs least by
//! the objective of its integer program (§4.2.1), the sum of δ × (C + λ × T_load).

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::hold_off::HoldOffs;
use super::policy::Policy;
use super::scaling::{Draft, instances_for};
use super::situation::{SLACK, Situation, TaskDemand};
use crate::variants::{Variant, VariantIndex};

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
        let mut draft = Draft::new(situation);
        for demand in situation.demands {
            let load = demand.rate.get() * SLACK;
            draft.mitigate(demand);
            match load > situation.capacity(demand) {
                true => self.scale_up(&mut draft, demand, load),
                false => self.scale_down(&mut draft, demand, load),
            }
        }
        draft.finish()
    }
}

impl InfaasGreedy {
    /// Considers each variant for the missing capacity and takes the cheapest one with room. If no
    /// variant has room, it takes the possible part of the cheapest.
    fn scale_up(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand, load: f64) {
        let situation = draft.situation;
        let missing = load - situation.capacity(demand);
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
    /// has had the headroom for the variant's loading time.
    fn scale_down(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand, load: f64) {
        let situation = draft.situation;
        if situation.is_loading(demand.task) {
            let (keep, none) = (ScalingAction::Keep, ActionOutcome::Taken);
            return draft.decision.consider(demand.task, keep, 0.0, none);
        }
        let capacity = situation.capacity(demand);
        let running = situation.suiting(demand);
        let running = running.filter(|(index, _)| situation.hosted.total(*index) > 0);
        // The most expensive first.
        let mut running: Vec<_> = running.collect();
        running.sort_by(|(_, a), (_, b)| b.profile.cost.get().total_cmp(&a.profile.cost.get()));
        for (index, variant) in running {
            let left = capacity - variant.saturation().get();
            let action = ScalingAction::Remove(index, 1);
            let spared = -variant.profile.cost.get();
            let cheaper = self.downgrade(draft, demand, index, load);
            if left < load && cheaper.is_none() {
                self.hold_offs.needed(index);
                let outcome = ActionOutcome::TooLittleLeft;
                draft
                    .decision
                    .consider(demand.task, action, spared, outcome);
                continue;
            }
            if let Some(from) = self.hold_offs.superfluous(situation, index) {
                let outcome = ActionOutcome::HoldOff(from);
                draft
                    .decision
                    .consider(demand.task, action, spared, outcome);
                continue;
            }
            match cheaper.filter(|_| left < load) {
                Some((cheaper, count)) => {
                    draft.place(cheaper, count);
                    let switch = ScalingAction::Switch(cheaper, count);
                    draft
                        .decision
                        .consider(demand.task, switch, 0.0, ActionOutcome::Taken);
                }
                None => draft.take_away(index),
            }
            draft
                .decision
                .consider(demand.task, action, spared, ActionOutcome::Taken);
            return;
        }
    }

    /// Returns the cheapest other variant that serves the load in place of one instance, if it
    /// costs less. The instance itself is removed once the other one is loaded and leaves the
    /// headroom.
    fn downgrade(
        &self,
        draft: &Draft<'_>,
        demand: &TaskDemand,
        index: VariantIndex,
        load: f64,
    ) -> Option<(VariantIndex, u32)> {
        let situation = draft.situation;
        let replaced = situation.catalog.variant(index);
        let missing = load - (situation.capacity(demand) - replaced.saturation().get());
        let others = situation
            .suiting(demand)
            .filter(|(other, _)| *other != index);
        let others = others.map(|(other, variant)| {
            let count = instances_for(missing, variant.saturation().get()).max(1);
            (other, count, f64::from(count) * variant.profile.cost.get())
        });
        let cheaper = others.filter(|(other, count, cost)| {
            *cost < replaced.profile.cost.get() && draft.has_room(*other, *count)
        });
        let cheapest = cheaper.min_by(|a, b| a.2.total_cmp(&b.2));
        cheapest.map(|(other, count, _)| (other, count))
    }
}

fn action(situation: &Situation<'_>, index: VariantIndex, count: u32) -> ScalingAction {
    match situation.hosted.total(index) {
        0 => ScalingAction::Switch(index, count),
        _ => ScalingAction::Replicate(index, count),
    }
}
