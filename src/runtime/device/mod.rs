//! Devices: CPU partitions, GPUs and simulated devices, their memory spaces, and the ledger
//! that books memory in them.

#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod devices;
pub mod gpu;
pub mod host;
mod index;
mod joined;
mod kind;
mod ledger;
mod named;
mod partitions;
pub mod simulated;

use serde::Serialize;
use thiserror::Error;

use gpu::GpuError;
use simulated::FindProfileError;

pub use crate::words::{SizeError, format_bytes, parse_bytes};
pub use devices::Devices;
pub use host::{
    Host, NoThread, ThreadPriority, ThreadTeam, pin_current_thread, set_current_thread_priority,
    thread_team,
};
pub use index::{DeviceIndex, MemberIndex};
pub use kind::{Computation, DeviceKind};
pub use ledger::{Booking, Ledger, NoRoom};
pub use named::NamedKind;
pub use partitions::{Partitioning, SharedReason};

/// A device that workers compute on: a row of the allocation matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// The name that users give it: `cpu:0`, `cpu:0-1`, `cuda:0`, `sim:v100:0`.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The memory space its workers use.
    pub space: SpaceId,
}

/// A memory space, as an index into [`Devices::spaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SpaceId(pub usize);

/// A memory that workers book bytes of: the host's, a GPU's or a simulated device's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemorySpace {
    /// `host`, or the name of its only device.
    pub name: String,
    /// Bytes that serving may book.
    pub bytes: u64,
}

/// The reason why devices cannot be used as named.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    /// The text is not a device name.
    #[error(
        "device `{0}`: expected cpu:CORE or cpu:FIRST-LAST (cores of this machine), cuda:NUMBER, cuda:FIRST-LAST or cuda (its GPUs), or sim:PROFILE or sim:PROFILE*COUNT"
    )]
    Syntax(String),
    /// A core that this process may not use.
    #[error("device `{device}`: core {core} is not among this process's cores ({available})")]
    NoSuchCore {
        /// The device's name.
        device: String,
        /// The core.
        core: usize,
        /// The cores that the process may use, separated by commas.
        available: String,
    },
    /// Two partitions that share a core.
    #[error("devices `{first}` and `{second}` overlap: both use core {core}")]
    Overlap {
        /// The partition that was named first.
        first: String,
        /// The other partition.
        second: String,
        /// The first core that both use.
        core: usize,
    },
    /// A GPU that is named twice.
    #[error("device `{0}` is named twice")]
    Twice(String),
    /// A GPU that cannot be used.
    #[error("device `{device}`: {reason}")]
    Gpu {
        /// The device's name.
        device: String,
        /// The driver's reason.
        reason: GpuError,
    },
    /// The profile of a simulated device is not available.
    #[error("device `{device}`: {reason}")]
    Profile {
        /// The device's name.
        device: String,
        /// The reason.
        reason: FindProfileError,
    },
    /// Two different profiles of one name.
    #[error("device `{device}`: another profile has the name `{profile}`")]
    ProfileTwice {
        /// The device's name.
        device: String,
        /// The name of both profiles.
        profile: String,
    },
    /// The number of simulated devices is 0, too large or not a number.
    #[error("device `{device}`: expected 1 to {most} devices, found {found}")]
    Count {
        /// The device's name.
        device: String,
        /// The number that was given.
        found: String,
        /// How many more devices are allowed.
        most: usize,
    },
    /// No device at all.
    #[error("expected at least one device")]
    None,
}
