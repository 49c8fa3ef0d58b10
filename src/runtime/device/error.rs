//! Why devices cannot be used as named.

use thiserror::Error;

use super::gpu::GpuError;

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
    #[error("device `{device}`: {reason}")]
    Profile { device: String, reason: String },
    #[error("device `{device}`: expected 1 to {most} of a kind, found {found}")]
    Count {
        device: String,
        found: String,
        most: usize,
    },
    #[error("expected at least one device")]
    None,
}
