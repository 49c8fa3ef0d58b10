//! Scales the instances of the developer's chosen variant: INFaaS's second baseline, after
//! SageMaker and AI Platform.

use std::collections::BTreeMap;

use divisi_modelless::policies::{
    ActionOutcome, DecisionDraft, HoldOffs, Policy, PolicyDecision, SLACK, ScalingAction,
    Situation, TaskDemand, instances_for,
};
use divisi_modelless::variants::{TaskIndex, VariantIndex};

/// Scales the running variant of each demand, and never loads another. Queries with the same goals
/// are an application, whose developer chose a variant.
#[derive(Clone, Debug, Default)]
pub struct IndividualScaling {
    hold_offs: HoldOffs,
}

impl Policy for IndividualScaling {
    fn name(&self) -> &'static str {
        "individual"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let mut draft = DecisionDraft::new(situation);
        let mut loads: BTreeMap<VariantIndex, (TaskIndex, f64)> = BTreeMap::new();
        for demand in situation.demands {
            match chosen(situation, demand) {
                Some(variant) => {
                    let load = loads.entry(variant).or_insert((demand.task, 0.0));
                    load.1 += demand.rate.get() * SLACK;
                }
                None => {
                    let (keep, none) = (ScalingAction::Keep, ActionOutcome::Taken);
                    draft.decision.consider(demand.task, keep, 0.0, none);
                }
            }
        }
        for (variant, (task, load)) in loads {
            self.scale(&mut draft, task, variant, load);
        }
        draft.finish()
    }
}

/// Returns the running variant that answers the queries of a demand: the cheapest that meets their
/// goals. If none does, the variant with the most instances, the cheapest of equals.
fn chosen(situation: &Situation<'_>, demand: &TaskDemand) -> Option<VariantIndex> {
    let range = situation.catalog.range(demand.task);
    let running = range.map(|at| VariantIndex(at as u32));
    let mut running = running.filter(|v| situation.hosted.total(*v) > 0);
    let mut suiting = situation.suiting(demand).map(|(index, _)| index);
    let suiting = suiting.find(|v| situation.hosted.total(*v) > 0);
    let most = |a: VariantIndex, b: VariantIndex| match situation.hosted.total(b)
        > situation.hosted.total(a)
    {
        true => b,
        false => a,
    };
    suiting.or_else(|| running.next().map(|first| running.fold(first, most)))
}

impl IndividualScaling {
    fn scale(
        &mut self,
        draft: &mut DecisionDraft<'_>,
        task: TaskIndex,
        index: VariantIndex,
        load: f64,
    ) {
        let situation = draft.situation;
        let variant = situation.catalog.variant(index);
        let runs = situation.hosted.total(index);
        let needed = instances_for(load, variant.saturation().get()).max(1);
        let cost = |count: u32| f64::from(count) * variant.profile.cost.get();
        if needed > runs {
            self.hold_offs.needed(index);
            let placed = draft.place(index, needed - runs);
            let action = ScalingAction::Replicate(index, needed - runs);
            let outcome = match placed == needed - runs {
                true => ActionOutcome::Taken,
                false => ActionOutcome::NoRoom,
            };
            draft
                .decision
                .consider(task, action, cost(needed - runs), outcome);
        } else if needed < runs {
            let outcome = match self.hold_offs.superfluous(situation, index) {
                Some(from) => ActionOutcome::HoldOff(from),
                None => {
                    draft.take_away(index);
                    ActionOutcome::Taken
                }
            };
            let action = ScalingAction::Remove(index, 1);
            draft.decision.consider(task, action, -cost(1), outcome);
        } else {
            self.hold_offs.needed(index);
        }
    }
}
