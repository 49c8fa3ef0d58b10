//! The slow loop: a policy decides once a second which variants are loaded on which devices.
//!
//! [`VariantScaler`] decides, without clock, lock or thread; [`LiveScaling`] measures, asks it for
//! decisions, and applies them to a deployment.

mod affected;
mod aftermath;
mod applying;
mod barred;
mod busy;
mod comparison;
mod deciding;
mod evidence;
mod gaps;
mod host;
mod hosted_models;
mod live;
mod planned;
mod planning;
mod record;
mod registrations;
mod scaler;
mod seconds;
mod watching;
pub(crate) mod words;

pub use barred::BarredChanges;
pub(crate) use busy::seen_groups;
pub use busy::{BusyGroups, GroupSeen, WorkerCounts};
pub use evidence::{ChangeEvidence, ChangeTrial, FailedChange, HostedVariants, InstancesChange};
pub use gaps::DeviceGaps;
pub use hosted_models::{HostedModels, HostedModelsError};
pub use live::LiveScaling;
pub use registrations::TaskRegistrations;
pub use scaler::{ScalerStep, VariantScaler};
pub use seconds::{QuerySecond, StreamSecond};
pub use watching::ObservedWork;
