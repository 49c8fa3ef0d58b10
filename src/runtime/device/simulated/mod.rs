//! Simulated devices: a profile, the law that it states, and an executor that follows it.

mod catalogue;
mod executor;
mod law;
mod profile;

pub use catalogue::{FindProfileError, built_in_profiles, find_profile};
pub use executor::{DeviceJob, Executor, JobEvent};
pub use law::{JobId, Kernel, Law, OpWork};
pub use profile::{DeviceClass, DeviceProfile, Origin, OriginKind, ProfileError};
