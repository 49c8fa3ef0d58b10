//! Why devices cannot be used as named.

use thiserror::Error;

use super::gpu::GpuError;
use super::simulated::FindProfileError;

/// Why devices cannot be used as named.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    #[error(
        "device `{0}`: expected cpu:CORE or cpu:FIRST-LAST (cores of this machine), cuda:NUMBER, cuda:FIRST-LAST or cuda (its GPUs), or sim:PROFILE or sim:PROFILE*COUNT"
    )]
    Syntax(String),
    #[error("device `{device}`: core {core} is not among this process's cores ({available})")]
    NoSuchCore {
        device: String,
        core: usize,
        available: String,
    },
    #[error("devices `{first}` and `{second}` overlap: both use core {core}")]
    Overlap {
        first: String,
        second: String,
        core: usize,
    },
    #[error("device `{0}` is named twice")]
    Twice(String),
    #[error("device `{device}`: {reason}")]
    Gpu { device: String, reason: GpuError },
    /// The profile of a simulated device cannot be had.
    #[error("device `{device}`: {reason}")]
    Profile {
        /// The device's name.
        device: String,
        /// Why not.
        reason: FindProfileError,
    },
    /// Two profiles that differ have one name.
    #[error("device `{device}`: another profile is called `{profile}` too")]
    ProfileTwice {
        /// The device's name.
        device: String,
        /// The name of both profiles.
        profile: String,
    },
    #[error("device `{device}`: expected 1 to {most} of a kind, found {found}")]
    Count {
        device: String,
        found: String,
        most: usize,
    },
    #[error("expected at least one device")]
    None,
}
