//! The slow loop live: which variants are loaded where, by a policy, once a second.
//!
//! [`VariantScaler`] decides, without clock, lock or thread; [`LiveScaling`] counts what happened,
//! asks it, and lets a deployment serve what it wants.

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
mod scaler;
pub(crate) mod words;

pub use barred::BarredChanges;
pub use busy::{BusyGroups, GroupSeen, WorkerCounts};
pub use gaps::DeviceGaps;
pub use hosted_models::{HostedModels, HostedModelsError};
pub use live::LiveScaling;
pub use probation::{ChangeProbation, FailedChange, QuerySecond};
pub use scaler::{ScalerStep, VariantScaler};
