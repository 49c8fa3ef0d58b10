//! Devices: CPU partitions, GPUs and simulated devices, their memory spaces, and the ledger
//! that books memory in them.

#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod devices;
pub mod gpu;
mod host;
mod index;
mod ledger;
mod named;
pub mod simulated;

use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use gpu::{GpuError, GpuInfo};
use simulated::{DeviceClass, DeviceProfile, FindProfileError};

pub use crate::words::{SizeError, format_bytes, parse_bytes};
pub use devices::Devices;
pub use host::{Host, pin_current_thread, thread_pool, yield_to_all_others};
pub use index::{DeviceIndex, MemberIndex};
pub use ledger::{Booking, Ledger, NoRoom};

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

/// The kind of a device, with the properties of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A set of cores of this machine.
    Cpu {
        /// Numbers of the cores, ascending without a gap.
        cores: Vec<usize>,
    },
    /// An NVIDIA GPU of this machine.
    Gpu {
        /// The GPU as it was found.
        info: Arc<GpuInfo>,
    },
    /// A simulated device, which takes time by a law and computes nothing.
    Simulated {
        /// The profile that it follows.
        profile: Arc<DeviceProfile>,
    },
}

impl DeviceKind {
    /// The name of simulated devices in reports.
    pub const SIMULATED: &str = "simulated";

    /// Returns the name of the kind in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DeviceKind::Cpu { .. } => "cpu",
            DeviceKind::Gpu { .. } => "cuda",
            DeviceKind::Simulated { .. } => DeviceKind::SIMULATED,
        }
    }

    /// Returns the number of threads that a batch is split over.
    pub fn threads(&self) -> usize {
        match self {
            DeviceKind::Cpu { cores } => cores.len(),
            DeviceKind::Gpu { .. } | DeviceKind::Simulated { .. } => 1,
        }
    }

    /// Whether worst-fit decreasing prefers the device (the paper, algorithm 1: GPUs first).
    pub fn is_accelerator(&self) -> bool {
        match self {
            DeviceKind::Cpu { .. } => false,
            DeviceKind::Gpu { .. } => true,
            DeviceKind::Simulated { profile } => profile.class == DeviceClass::Gpu,
        }
    }

    /// Whether lanes run side by side on the device; else one batch runs at a time.
    pub fn is_concurrent(&self) -> bool {
        self.is_accelerator()
    }

    /// Returns the profile that the device follows, or `None` if it is not simulated.
    pub fn profile(&self) -> Option<&Arc<DeviceProfile>> {
        match self {
            DeviceKind::Cpu { .. } | DeviceKind::Gpu { .. } => None,
            DeviceKind::Simulated { profile } => Some(profile),
        }
    }

    /// Returns the description of the GPU, or `None` if the device is no GPU of this machine.
    pub fn gpu(&self) -> Option<&Arc<GpuInfo>> {
        match self {
            DeviceKind::Gpu { info } => Some(info),
            DeviceKind::Cpu { .. } | DeviceKind::Simulated { .. } => None,
        }
    }

    /// Whether a batch takes the same time and memory on both devices.
    pub fn is_like(&self, other: &DeviceKind) -> bool {
        match (self, other) {
            (DeviceKind::Cpu { .. }, DeviceKind::Cpu { .. }) => self.threads() == other.threads(),
            (DeviceKind::Gpu { info: a }, DeviceKind::Gpu { info: b }) => a.is_like(b),
            (DeviceKind::Simulated { profile: a }, DeviceKind::Simulated { profile: b }) => a == b,
            _ => false,
        }
    }

    /// Returns the bytes that every worker takes beside its network.
    pub fn worker_bytes(&self) -> u64 {
        self.profile().map_or(0, |p| p.worker_bytes)
    }
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
    /// A text that is no device's name.
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
    /// A simulated device whose profile cannot be had.
    #[error("device `{device}`: {reason}")]
    Profile {
        /// The device's name.
        device: String,
        /// The reason.
        reason: FindProfileError,
    },
    /// Two different profiles of one name.
    #[error("device `{device}`: another profile is called `{profile}` too")]
    ProfileTwice {
        /// The device's name.
        device: String,
        /// The name of both profiles.
        profile: String,
    },
    /// A number of simulated devices that is none, or too large.
    #[error("device `{device}`: expected 1 to {most} of a kind, found {found}")]
    Count {
        /// The device's name.
        device: String,
        /// The number that was given.
        found: String,
        /// How many devices there may be still.
        most: usize,
    },
    /// No device at all.
    #[error("expected at least one device")]
    None,
}
