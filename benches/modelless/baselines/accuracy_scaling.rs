//! Reduces accuracy before refusing requests: after Proteus (ASPLOS 2024).
//!
//! The number of devices is fixed. The policy serves the most queries, and among the ways to do so
//! it takes the one with the most correct answers. The program is Proteus's without symmetries: the
//! number of instances of each variant on each kind of device, and the flows to them.

use divisi_modelless::policies::{
    PlanObjective, Policy, PolicyDecision, SLACK, Situation, TaskDemand, plan,
};
use divisi_modelless::quantities::QueryCost;

/// The worth of any answer relative to a correct one. A lost query outweighs all accuracy that the
/// others could gain.
const ANY_ANSWER: f64 = 1e3;

/// Serves the most queries, as accurately as possible, on the existing devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccuracyScaling;

impl Policy for AccuracyScaling {
    fn name(&self) -> &'static str {
        "accuracy"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let objective = PlanObjective {
            slack: SLACK,
            cost: 0.0,
            lambda: 1e-3,
            time: 0.0,
            right_answer: 1.0,
            waits: false,
        };
        let worth = QueryCost::new(ANY_ANSWER).unwrap_or(QueryCost::FREE);
        // Accuracy is the objective, not a goal, and the whole ensemble is a goal of accuracy.
        let without = |demand: &TaskDemand| {
            let mut demand = demand.clone();
            (demand.goals.accuracy, demand.goals.whole) = (None, None);
            TaskDemand { worth, ..demand }
        };
        let demands: Vec<TaskDemand> = situation.demands.iter().map(without).collect();
        let relaxed = Situation {
            demands: &demands,
            ..*situation
        };
        let planned = plan(&relaxed, &objective);
        PolicyDecision {
            changes: planned.changes_from(situation.hosted),
            ..PolicyDecision::default()
        }
    }
}
