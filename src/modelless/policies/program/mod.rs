//! INFaaS's integer linear program (§4.2.1), solved by branch and bound.
//!
//! It minimises the sum of δ × (C + λ × T_load) over all variants, where δ is the change of
//! instances. Each demand has the capacity of its load with the headroom, of variants that meet its
//! goals, and the instances fit on the devices. If they do not, as few queries as possible are left
//! unserved, then the cost counts. INFaaS solved it with Gurobi in 23 s and more; here the number of
//! steps is limited, and the best plan found within them counts.

mod search;
mod task;

pub use search::{ProgramPlan, cheapest_plan};

use super::decision::PolicyDecision;
use super::hold_off::HoldOffs;
use super::policy::Policy;
use super::scaling::decision_of;
use super::situation::Situation;
use super::transition::settled;

/// The terms of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramTerms {
    /// The required ratio of capacity to load.
    pub slack: f64,
    /// λ: the cost per second for each second of loading.
    pub lambda: f64,
    /// The steps after which the search takes the best plan found. A step decides the instances of
    /// one variant, and takes some microseconds.
    pub steps: u32,
}

/// Runs the instances that solve INFaaS's integer program.
#[derive(Clone, Debug)]
pub struct InfaasProgram {
    /// The terms of its programs.
    pub terms: ProgramTerms,
    hold_offs: HoldOffs,
}

impl InfaasProgram {
    /// Creates the policy with the terms of its programs.
    pub fn new(terms: ProgramTerms) -> Self {
        InfaasProgram {
            terms,
            hold_offs: HoldOffs::default(),
        }
    }
}

impl Policy for InfaasProgram {
    fn name(&self) -> &'static str {
        "infaas-ilp"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let plan = cheapest_plan(situation, &self.terms);
        let mut decision = decision_of(Vec::new());
        decision.lacking = plan.lacking;
        let kept = settled(situation, plan.hosted, &mut self.hold_offs, &mut decision);
        decision.changes = kept.changes_from(situation.hosted);
        decision
    }
}
