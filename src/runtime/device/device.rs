//! One device: what it is, and the memory space that it uses.

use std::sync::Arc;

use serde::Serialize;

use super::gpu::GpuInfo;
use super::simulated::{DeviceClass, DeviceProfile};

/// Something workers compute on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// As the user names it: `cpu:0`, `cpu:0-1`, `cuda:0`.
    pub name: String,
    pub kind: DeviceKind,
    /// The memory space its workers use.
    pub space: SpaceId,
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A set of cores of this machine.
    Cpu { cores: Vec<usize> },
    /// An NVIDIA GPU of this machine.
    Gpu { info: Arc<GpuInfo> },
    /// A device that is not there, with the profile it follows.
    Simulated { profile: Arc<DeviceProfile> },
}

impl DeviceKind {
    /// The name of simulated devices in reports.
    pub const SIMULATED: &str = "simulated";

    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DeviceKind::Cpu { .. } => "cpu",
            DeviceKind::Gpu { .. } => "cuda",
            DeviceKind::Simulated { .. } => DeviceKind::SIMULATED,
        }
    }

    /// Threads that a batch is split over.
    pub fn threads(&self) -> usize {
        match self {
            DeviceKind::Cpu { cores } => cores.len(),
            DeviceKind::Gpu { .. } | DeviceKind::Simulated { .. } => 1,
        }
    }

    /// Whether worst-fit decreasing prefers it (the paper, algorithm 1: GPUs first).
    pub fn is_accelerator(&self) -> bool {
        match self {
            DeviceKind::Cpu { .. } => false,
            DeviceKind::Gpu { .. } => true,
            DeviceKind::Simulated { profile } => profile.class == DeviceClass::Gpu,
        }
    }

    /// Whether its lanes run side by side; else one batch runs at a time.
    pub fn is_concurrent(&self) -> bool {
        self.is_accelerator()
    }

    /// The profile it follows, where it is simulated.
    pub fn profile(&self) -> Option<&Arc<DeviceProfile>> {
        match self {
            DeviceKind::Cpu { .. } | DeviceKind::Gpu { .. } => None,
            DeviceKind::Simulated { profile } => Some(profile),
        }
    }

    /// What it is, where it is a GPU of this machine.
    pub fn gpu(&self) -> Option<&Arc<GpuInfo>> {
        match self {
            DeviceKind::Gpu { info } => Some(info),
            DeviceKind::Cpu { .. } | DeviceKind::Simulated { .. } => None,
        }
    }

    /// Whether a batch takes the same time and memory on both.
    pub fn is_like(&self, other: &DeviceKind) -> bool {
        match (self, other) {
            (DeviceKind::Cpu { .. }, DeviceKind::Cpu { .. }) => self.threads() == other.threads(),
            (DeviceKind::Gpu { info: a }, DeviceKind::Gpu { info: b }) => a.is_like(b),
            (DeviceKind::Simulated { profile: a }, DeviceKind::Simulated { profile: b }) => a == b,
            _ => false,
        }
    }

    /// Bytes that every worker takes beside its network.
    pub fn worker_bytes(&self) -> u64 {
        self.profile().map_or(0, |p| p.worker_bytes)
    }
}

/// Which memory space: an index into [`Devices::spaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SpaceId(pub usize);

/// Where bytes live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemorySpace {
    pub name: String,
    pub bytes: u64,
}
