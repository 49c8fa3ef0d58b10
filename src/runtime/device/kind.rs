//! The kinds of device. Only this module and the drivers distinguish them.

use std::sync::Arc;

use serde::Serialize;

use super::gpu::GpuInfo;
use super::simulated::{DeviceClass, DeviceProfile};

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
    /// Returns the name of the kind in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DeviceKind::Cpu { .. } => "cpu",
            DeviceKind::Gpu { .. } => "cuda",
            DeviceKind::Simulated { .. } => "simulated",
        }
    }

    /// Returns the number of threads that a batch is split over.
    pub fn threads(&self) -> usize {
        match self.computation() {
            Computation::Kernels(cores) => cores.len(),
            Computation::Gpu(_) | Computation::Law(_) => 1,
        }
    }

    /// Returns whether worst-fit decreasing prefers the device (the paper, algorithm 1: GPUs
    /// first).
    pub fn is_accelerator(&self) -> bool {
        match self {
            DeviceKind::Cpu { .. } => false,
            DeviceKind::Gpu { .. } => true,
            DeviceKind::Simulated { profile } => profile.class == DeviceClass::Gpu,
        }
    }

    /// Returns whether lanes run concurrently on the device. Otherwise one batch runs at a time.
    pub fn is_concurrent(&self) -> bool {
        self.is_accelerator()
    }

    /// Returns how batches are computed on the device.
    pub fn computation(&self) -> Computation<'_> {
        match self {
            DeviceKind::Cpu { cores } => Computation::Kernels(cores),
            DeviceKind::Gpu { info } => Computation::Gpu(info),
            DeviceKind::Simulated { profile } => Computation::Law(profile),
        }
    }

    /// Returns whether the device computes with the cores and the memory of the host. Such devices
    /// take time from each other and exist as long as the host.
    pub fn is_of_host(&self) -> bool {
        matches!(self.computation(), Computation::Kernels(_))
    }

    /// Returns whether the times of batches are measured. Otherwise they follow a law.
    pub fn is_measured(&self) -> bool {
        self.profile().is_none()
    }

    /// Returns the profile that the device follows, or `None` if it is not simulated.
    pub fn profile(&self) -> Option<&Arc<DeviceProfile>> {
        match self.computation() {
            Computation::Law(profile) => Some(profile),
            Computation::Kernels(_) | Computation::Gpu(_) => None,
        }
    }

    /// Returns the description of the GPU, or `None` if the device is not a GPU of this machine.
    pub fn gpu(&self) -> Option<&Arc<GpuInfo>> {
        match self.computation() {
            Computation::Gpu(info) => Some(info),
            Computation::Kernels(_) | Computation::Law(_) => None,
        }
    }

    /// Returns whether a batch takes the same time and memory on both devices.
    pub fn is_like(&self, other: &DeviceKind) -> bool {
        match (self, other) {
            (DeviceKind::Cpu { .. }, DeviceKind::Cpu { .. }) => self.threads() == other.threads(),
            (DeviceKind::Gpu { info: a }, DeviceKind::Gpu { info: b }) => a.is_like(b),
            (DeviceKind::Simulated { profile: a }, DeviceKind::Simulated { profile: b }) => a == b,
            _ => false,
        }
    }

    /// Returns the bytes that every worker takes in addition to its network.
    pub fn worker_bytes(&self) -> u64 {
        self.profile().map_or(0, |p| p.worker_bytes)
    }
}

/// How batches are computed on a device. Several kinds may share one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Computation<'a> {
    /// Kernels on these cores of the host.
    Kernels(&'a [usize]),
    /// The driver of this GPU.
    Gpu(&'a Arc<GpuInfo>),
    /// Not computed: the time and the memory come from the profile.
    Law(&'a Arc<DeviceProfile>),
}
