//! The slow loop: a policy decides once a second which variants are loaded on which devices.
//!
//! [`VariantScaler`] decides, without clock, lock or thread; [`LiveScaling`] measures, asks it for
//! decisions, and applies them to a deployment.

mod barred;
mod busy;
mod comparison;
mod deciding;
mod gaps;
mod handover;
mod hosted_models;
mod live;
mod planned;
mod probation;
mod record;
mod registrations;
mod scaler;
pub(crate) mod words;

pub use barred::BarredChanges;
pub use busy::{BusyGroups, GroupSeen, WorkerCounts};
pub(crate) use busy::seen_groups;
pub use gaps::DeviceGaps;
pub use hosted_models::{HostedModels, HostedModelsError};
pub use live::LiveScaling;
pub use probation::{ChangeProbation, FailedChange, QuerySecond};
pub use registrations::TaskRegistrations;
pub use scaler::{ScalerStep, VariantScaler};
