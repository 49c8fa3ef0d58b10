//! Policies of other systems, which the policies of Divisi are compared with.

mod accuracy_scaling;
mod individual;
mod infaas_code;

use divisi_modelless::fleet::{FleetRecord, FleetScenario, simulate_with};
use divisi_modelless::policies::{PlanObjective, Policy, PolicyChoice};

use accuracy_scaling::AccuracyScaling;
use individual::IndividualScaling;
use infaas_code::InfaasCode;

/// A policy of Divisi or a baseline, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedPolicy {
    /// A policy that operators can choose.
    Choice(PolicyChoice),
    /// Scales each running variant.
    Individual,
    /// INFaaS according to its code.
    InfaasCode,
    /// Reduces accuracy before refusing requests.
    Accuracy,
}

impl ComparedPolicy {
    /// All policies, in the order of the tables.
    pub const ALL: [ComparedPolicy; 7] = [
        ComparedPolicy::Choice(PolicyChoice::Static),
        ComparedPolicy::Individual,
        ComparedPolicy::Choice(PolicyChoice::Infaas),
        ComparedPolicy::Choice(PolicyChoice::InfaasIlp),
        ComparedPolicy::InfaasCode,
        ComparedPolicy::Accuracy,
        ComparedPolicy::Choice(PolicyChoice::Divisi),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.policy(PlanObjective::default()).name()
    }

    /// Creates the policy; `divisi` plans with the objective.
    pub fn policy(self, objective: PlanObjective) -> Box<dyn Policy> {
        match self {
            ComparedPolicy::Choice(choice) => choice.with_objective(objective),
            ComparedPolicy::Individual => Box::new(IndividualScaling::default()),
            ComparedPolicy::InfaasCode => Box::new(InfaasCode::default()),
            ComparedPolicy::Accuracy => Box::new(AccuracyScaling),
        }
    }

    /// Simulates a fleet with this policy instead of the scenario's.
    pub fn simulate(self, scenario: &FleetScenario) -> FleetRecord {
        simulate_with(scenario, self.policy(scenario.objective))
    }
}

impl From<PolicyChoice> for ComparedPolicy {
    fn from(choice: PolicyChoice) -> Self {
        ComparedPolicy::Choice(choice)
    }
}
