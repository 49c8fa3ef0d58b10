//! The slow loop live: which variants are loaded where, by a policy, once a second.
//!
//! [`VariantScaler`] decides, without clock, lock or thread; [`LiveScaling`] counts what happened,
//! asks it, and lets a deployment serve what it wants.

mod arrangement;
mod busy;
mod comparison;
mod gaps;
mod live;
mod planned;
mod record;
mod scaler;
pub(crate) mod words;

pub use arrangement::{Arrangement, ArrangementError};
pub use busy::{BusyGroups, GroupSeen, WorkerCounts};
pub use gaps::DeviceGaps;
pub use live::LiveScaling;
pub use scaler::{ScalerStep, VariantScaler};
