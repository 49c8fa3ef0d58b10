//! The slow loop: once a second, which variants run where.
//!
//! A policy sees a [`Situation`] and returns a [`PolicyDecision`]: the changes of instances, all
//! that it considered with what spoke against it, and the kinds of devices that it lacks. It moves
//! nothing itself.

mod accuracy_scaling;
mod cover;
mod decision;
mod fixed;
mod hold_off;
mod individual;
mod infaas;
mod infaas_code;
mod kind;
mod policy;
mod priced;
mod scaling;
mod situation;

pub use accuracy_scaling::AccuracyScaling;
pub use cover::{CoverItem, cheapest_cover};
pub use decision::{ActionOutcome, ConsideredAction, PolicyDecision, ScalingAction};
pub use fixed::FixedReplicas;
pub use individual::IndividualScaling;
pub use infaas::InfaasGreedy;
pub use infaas_code::InfaasCode;
pub use kind::PolicyChoice;
pub use policy::Policy;
pub use priced::{PlanObjective, PricedPlanning, plan, plan_value};
pub use situation::{ChangeRules, SLACK, Situation, TaskDemand, WatchedVariant};
