//! A fixed number of instances: INFaaS's baseline for systems with manual loading.

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::policy::Policy;
use super::situation::Situation;

/// Never changes anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedReplicas;

impl Policy for FixedReplicas {
    fn name(&self) -> &'static str {
        "static"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let mut decision = PolicyDecision::default();
        for demand in situation.demands {
            let outcome = ActionOutcome::Taken;
            decision.consider(demand.task, ScalingAction::Keep, 0.0, outcome);
        }
        decision
    }
}
