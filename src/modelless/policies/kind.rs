//! The policies by name.

use serde::{Deserialize, Serialize};

use super::{
    FixedReplicas, InfaasGreedy, InfaasProgram, PlanObjective, Policy, PricedPlanning,
    ProgramTerms, SLACK,
};

/// λ of INFaaS's objective: the cost per second for each second of loading.
const LAMBDA: f64 = 0.01;
/// The terms of INFaaS's program. The steps bound the time of a decision.
const PROGRAM: ProgramTerms = ProgramTerms {
    slack: SLACK,
    lambda: LAMBDA,
    steps: 10_000,
};

/// A policy, by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChoice {
    /// Instances never change.
    Static,
    /// INFaaS according to the paper: its greedy heuristic.
    Infaas,
    /// INFaaS's integer linear program, solved exactly.
    InfaasIlp,
    /// The plan with the highest value.
    #[default]
    Divisi,
}

impl PolicyChoice {
    /// All policies.
    pub const ALL: [PolicyChoice; 4] = [
        PolicyChoice::Static,
        PolicyChoice::Infaas,
        PolicyChoice::InfaasIlp,
        PolicyChoice::Divisi,
    ];

    /// Returns the policy with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.policy().name()
    }

    /// Creates the policy; `divisi` plans with the objective.
    pub fn with_objective(self, objective: PlanObjective) -> Box<dyn Policy> {
        match self {
            PolicyChoice::Divisi => Box::new(PricedPlanning::new(objective)),
            other => other.policy(),
        }
    }

    /// Creates the policy. `infaas` and `infaas-ilp` have a λ of 0.01 per second for a second of
    /// loading, which the paper does not give.
    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            PolicyChoice::Static => Box::new(FixedReplicas),
            PolicyChoice::Infaas => Box::new(InfaasGreedy::new(LAMBDA)),
            PolicyChoice::InfaasIlp => Box::new(InfaasProgram::new(PROGRAM)),
            PolicyChoice::Divisi => Box::new(PricedPlanning::new(PlanObjective::default())),
        }
    }
}
