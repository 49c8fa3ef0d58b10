//! Numbers and states of the engine in words. Nothing here knows a screen.

pub mod checks;
mod condition;
pub mod format;
pub mod gpu;
mod load;
mod severity;
pub mod status;
mod window;

pub use condition::{Condition, lost_words};
pub use load::words as load_words;
pub use severity::Severity;
pub use window::measured as measured_window;
