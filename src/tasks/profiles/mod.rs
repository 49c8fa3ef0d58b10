//! Repairs profiles: those measured on a busy machine, and those that batches contradict.
//!
//! [`ProfileWatch`] decides, without clock, lock or thread; [`LiveProfiles`] observes batches and
//! the host, and measures again through a [`ProfileKeeper`].

mod keeper;
mod live;
mod watch;

pub use keeper::{KeptModel, ProfileKeeper};
pub use live::LiveProfiles;
pub use watch::{ProfileSecond, ProfileStep, ProfileWatch};
