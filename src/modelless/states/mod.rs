//! The state of a variant: whether it runs, and whether it has too much to do or is disturbed.
//!
//! INFaaS has the four states (§3.2, figure 4); its code keeps one flag for the last two. Here they
//! stay apart, as their cures differ: more instances, or another place.

mod state;
mod thresholds;
mod watch;

pub use state::VariantState;
pub use thresholds::{StateThresholds, ThresholdError};
pub use watch::{StateChange, VariantObservation, VariantWatch};
