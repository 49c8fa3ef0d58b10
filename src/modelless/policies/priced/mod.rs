//! Divisi's own policy: the plan with the highest value, which is the worth of the served queries
//! minus the costs of instances and of loading them.
//!
//! INFaaS's greedy heuristic ignores prices when it compares tasks, and its integer program took
//! Gurobi 23 s. This policy uses a local search from the running instances, so that small changes
//! of the load cause small changes of the plan; `tests/modelless` compares it with all possible
//! plans.

mod model;
mod moves;
mod search;
mod state;

pub use model::PlanObjective;
pub use search::{plan, plan_value};

use super::decision::PolicyDecision;
use super::hold_off::HoldOffs;
use super::load::TaskLoad;
use super::policy::Policy;
use super::scaling::decision_of;
use super::situation::{Situation, TaskDemand};
use super::transition::settled;
use crate::placement::HostedInstances;
use crate::quantities::QueryRate;
use crate::variants::DeviceKindIndex;

/// The share of queries with missed goals above which a task gets more capacity than it seems to
/// need.
const MISSED: f64 = 0.01;

/// The share of the usual rate that is always planned for.
const USUAL: f64 = 0.1;

/// Plans all tasks together by value.
#[derive(Clone, Debug)]
pub struct PricedPlanning {
    /// The objective of plans.
    pub objective: PlanObjective,
    hold_offs: HoldOffs,
}

impl PricedPlanning {
    /// Creates the policy with an objective.
    pub fn new(objective: PlanObjective) -> Self {
        PricedPlanning {
            objective,
            hold_offs: HoldOffs::default(),
        }
    }
}

impl Policy for PricedPlanning {
    fn name(&self) -> &'static str {
        "divisi"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let demands: Vec<TaskDemand> = situation.demands.iter().map(pressed).collect();
        let situation = &Situation {
            demands: &demands,
            ..*situation
        };
        let planned = plan(situation, &self.objective);
        let mut decision = decision_of(Vec::new());
        let kept = settled(situation, planned, &mut self.hold_offs, &mut decision);
        lack(situation, &kept, &mut decision);
        decision.changes = kept.changes_from(situation.hosted);
        decision
    }
}

/// Returns a demand as it may be in the next seconds: with a standard deviation of Poisson arrivals
/// added, with more if goals are missed, and at most half as much again. A part of the usual rate
/// is planned even without queries, so that the next query finds a running variant.
fn pressed(demand: &TaskDemand) -> TaskDemand {
    let more = match demand.missed > MISSED {
        true => 1.0 + demand.missed.min(0.5),
        false => 1.0,
    };
    let least = USUAL * demand.usual.get();
    let rate = demand.rate.get() * more;
    let rate = QueryRate::new((rate + rate.sqrt()).max(least));
    TaskDemand {
        rate: rate.unwrap_or(demand.rate),
        ..demand.clone()
    }
}

/// Records the kinds of devices needed by queries beyond the plan's capacity, if these are together
/// worth a device of the kind and none has room.
fn lack(situation: &Situation<'_>, plan: &HostedInstances, decision: &mut PolicyDecision) {
    let kinds = situation.catalog.devices();
    let mut worths = vec![0.0; kinds.len()];
    for task in situation.catalog.tasks() {
        let load = TaskLoad::new(situation, task, 1.0);
        for (demand, missing) in load.demands().zip(load.unserved(plan)) {
            let Some((index, variant)) = situation.suiting(demand).next() else {
                continue;
            };
            if plan.best_fit(situation.catalog, index).is_none() {
                let share = variant.profile.share.fraction().max(1e-3);
                let served = missing.clamp(0.0, variant.saturation().get() / share);
                worths[usize::from(variant.device.0)] += served * demand.worth.get();
            }
        }
    }
    let each = (0..).map(DeviceKindIndex).zip(kinds).zip(worths);
    let worth_one = each.filter(|((_, kind), worth)| *worth > kind.price.get());
    decision
        .lacking
        .extend(worth_one.map(|((kind, _), _)| kind));
}
