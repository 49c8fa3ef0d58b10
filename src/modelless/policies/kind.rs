//! The policies by name.

use serde::{Deserialize, Serialize};

use super::{
    AccuracyScaling, FixedReplicas, IndividualScaling, InfaasCode, InfaasGreedy, PlanObjective,
    Policy, PricedPlanning,
};

/// A policy, by the name that an operator chooses it by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChoice {
    /// Instances as they are.
    Static,
    /// More and fewer of each variant that runs.
    Individual,
    /// INFaaS, as the paper has it.
    Infaas,
    /// INFaaS, as its code has it.
    InfaasCode,
    /// Accuracy given up before requests.
    Accuracy,
    /// The plan with the highest value.
    #[default]
    Divisi,
}

impl PolicyChoice {
    /// All policies.
    pub const ALL: [PolicyChoice; 6] = [
        PolicyChoice::Static,
        PolicyChoice::Individual,
        PolicyChoice::Infaas,
        PolicyChoice::InfaasCode,
        PolicyChoice::Accuracy,
        PolicyChoice::Divisi,
    ];

    /// Returns the policy of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.policy().name()
    }

    /// Returns the policy at its beginning, where `divisi` plans by an objective.
    pub fn by(self, objective: PlanObjective) -> Box<dyn Policy> {
        match self {
            PolicyChoice::Divisi => Box::new(PricedPlanning::new(objective)),
            other => other.policy(),
        }
    }

    /// Returns the policy at its beginning. `infaas` has a λ of 0.01 money a second for a second
    /// of loading; the paper leaves it open.
    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            PolicyChoice::Static => Box::new(FixedReplicas),
            PolicyChoice::Individual => Box::new(IndividualScaling::default()),
            PolicyChoice::Infaas => Box::new(InfaasGreedy::new(0.01)),
            PolicyChoice::InfaasCode => Box::new(InfaasCode::default()),
            PolicyChoice::Accuracy => Box::new(AccuracyScaling),
            PolicyChoice::Divisi => Box::new(PricedPlanning::new(PlanObjective::default())),
        }
    }
}
