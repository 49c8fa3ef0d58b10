//! One device: its kind, and the memory space that it uses.

use std::sync::Arc;

use serde::Serialize;

use super::gpu::GpuInfo;
use super::simulated::{DeviceClass, DeviceProfile};

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

/// A memory space, as an index into [`Devices::spaces`](super::Devices::spaces).
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
