//! Accuracy given up before requests: after Proteus (ASPLOS 2024).
//!
//! Devices are there and paid for. As many queries as possible are served, and of all ways to do
//! so the one with the most right answers is taken. The programme is that without symmetries: how
//! many instances of each variant on each kind of device, and the flows to them.

use super::decision::PolicyDecision;
use super::policy::Policy;
use super::priced::{PlanObjective, plan};
use super::scaling::decision_of;
use super::situation::{SLACK, Situation, TaskDemand};
use crate::quantities::QueryCost;

/// How much more than a right answer any answer is worth. A query that is lost outweighs all the
/// accuracy that could be gained by the others.
const ANY_ANSWER: f64 = 1e3;

/// Serves all it can, as accurately as it can, on the devices that there are.
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
        // Accuracy is the objective, no goal.
        let without = |demand: &TaskDemand| {
            let mut demand = demand.clone();
            demand.goals.accuracy = None;
            TaskDemand { worth, ..demand }
        };
        let demands: Vec<TaskDemand> = situation.demands.iter().map(without).collect();
        let relaxed = Situation {
            demands: &demands,
            ..*situation
        };
        let planned = plan(&relaxed, &objective);
        decision_of(planned.changes_from(situation.hosted))
    }
}
