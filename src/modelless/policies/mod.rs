//! The slow loop: once a second, decides which variants run on which devices.
//!
//! A policy receives a [`Situation`] and returns a [`PolicyDecision`]: the changes of instances,
//! all considered actions with their outcomes, and the missing kinds of devices. It does not apply
//! the changes.

mod accuracy_scaling;
mod decision;
mod fixed;
mod hold_off;
mod individual;
mod infaas;
mod infaas_code;
mod kind;
mod load;
mod policy;
mod priced;
mod program;
mod scaling;
mod served;
mod situation;
mod transition;

pub use accuracy_scaling::AccuracyScaling;
pub use decision::{ActionOutcome, ConsideredAction, PolicyDecision, ScalingAction};
pub use fixed::FixedReplicas;
pub use individual::IndividualScaling;
pub use infaas::InfaasGreedy;
pub use infaas_code::InfaasCode;
pub use kind::PolicyChoice;
pub use policy::Policy;
pub use priced::{PlanObjective, PricedPlanning, plan, plan_value};
pub use program::{InfaasProgram, ProgramPlan, ProgramTerms, cheapest_plan};
pub use situation::{ChangeRules, SLACK, Situation, TaskDemand, WatchedVariant};
