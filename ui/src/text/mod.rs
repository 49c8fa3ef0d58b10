//! Numbers and states of the engine in words. Nothing here knows a screen.

pub(crate) mod checks;
mod condition;
pub mod format;
pub(crate) mod gpu;
pub(crate) mod status;

pub use condition::Severity;
pub(crate) use condition::{Condition, lost_words};
pub(crate) use status::{load_words, measured_window};
