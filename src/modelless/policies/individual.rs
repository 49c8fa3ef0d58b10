//! Scales the instances of the developer's chosen variant: INFaaS's second baseline, after
//! SageMaker and AI Platform.

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::hold_off::HoldOffs;
use super::policy::Policy;
use super::scaling::{Draft, instances_for};
use super::situation::{SLACK, Situation, TaskDemand};
use crate::variants::VariantIndex;

/// Scales the running variant of each task, and never loads another.
#[derive(Clone, Debug, Default)]
pub struct IndividualScaling {
    hold_offs: HoldOffs,
}

impl Policy for IndividualScaling {
    fn name(&self) -> &'static str {
        "individual"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let mut draft = Draft::new(situation);
        for demand in situation.demands {
            match chosen(situation, demand) {
                Some(variant) => self.scale(&mut draft, demand, variant),
                None => {
                    let (keep, none) = (ScalingAction::Keep, ActionOutcome::Taken);
                    draft.decision.consider(demand.task, keep, 0.0, none);
                }
            }
        }
        draft.finish()
    }
}

/// Returns the variant of a task with the most instances, the cheapest of equals.
fn chosen(situation: &Situation<'_>, demand: &TaskDemand) -> Option<VariantIndex> {
    let range = situation.catalog.range(demand.task);
    let running = range.map(|at| VariantIndex(at as u32));
    let running = running.filter(|v| situation.hosted.total(*v) > 0);
    running.max_by_key(|v| (situation.hosted.total(*v), std::cmp::Reverse(*v)))
}

impl IndividualScaling {
    fn scale(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand, index: VariantIndex) {
        let situation = draft.situation;
        let variant = situation.catalog.variant(index);
        let runs = situation.hosted.total(index);
        let load = demand.rate.get() * SLACK;
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
                .consider(demand.task, action, cost(needed - runs), outcome);
        } else if needed < runs {
            let outcome = match self.hold_offs.superfluous(situation, index) {
                Some(from) => ActionOutcome::HoldOff(from),
                None => {
                    draft.take_away(index);
                    ActionOutcome::Taken
                }
            };
            let action = ScalingAction::Remove(index, 1);
            draft
                .decision
                .consider(demand.task, action, -cost(1), outcome);
        } else {
            self.hold_offs.needed(index);
        }
    }
}
