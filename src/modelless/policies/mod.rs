//! The slow loop: once a second, decides which variants run on which devices.
//!
//! A policy receives a [`Situation`] and returns a [`PolicyDecision`]: the changes of instances,
//! all considered actions with their outcomes, and the missing kinds of devices. It does not apply
//! the changes.

mod decision;
mod fixed;
mod hold_off;
mod infaas;
mod kind;
mod load;
mod policy;
mod priced;
mod program;
mod scaling;
mod served;
mod situation;
mod transition;

pub use decision::{ActionOutcome, ConsideredAction, PolicyDecision, ScalingAction};
pub use fixed::FixedReplicas;
pub use hold_off::HoldOffs;
pub use infaas::InfaasGreedy;
pub use kind::PolicyChoice;
pub use policy::Policy;
pub use priced::{PlanObjective, PricedPlanning, plan, plan_value};
pub use program::{InfaasProgram, ProgramPlan, ProgramTerms, cheapest_plan};
pub use scaling::{DecisionDraft, instances_for};
pub use situation::{ChangeRules, SLACK, Situation, TaskDemand, WatchedVariant};
