//! The state of a variant: whether it runs, is overloaded, or suffers interference.
//!
//! INFaaS has the four states (§3.2, figure 4); its code keeps one flag for the last two. Here they
//! are separate, as they need different actions: more instances, or another device.

mod state;
mod thresholds;
mod watch;

pub use state::VariantState;
pub use thresholds::{StateThresholds, ThresholdError};
pub use watch::{StateChange, VariantObservation, VariantWatch};
