//! Devices of one kind.

use divisi_runtime::device::{Computation, DeviceIndex, DeviceKind, Devices};
use divisi_runtime::words::counted;

/// Devices of one kind, which share a profile: partitions with the same number of threads, or GPUs
/// of one model.
pub(super) struct LikeDevices<'a> {
    pub(super) like: &'a DeviceKind,
    pub(super) devices: Vec<DeviceIndex>,
}

impl LikeDevices<'_> {
    /// Returns the devices that are busy during a measurement: all devices of the host, because
    /// they contend with each other, or one GPU.
    pub(super) fn busy(&self) -> &[DeviceIndex] {
        match self.like.is_of_host() {
            true => &self.devices,
            false => &self.devices[..1],
        }
    }

    /// Returns the cores of the busy devices, or `None` for GPUs, whose threads run on any core.
    pub(super) fn cores(&self, all: &Devices) -> Option<Vec<usize>> {
        let devices = self.busy().iter().map(|device| all.get(*device));
        let cores = devices.map(|device| match device.kind.computation() {
            Computation::Kernels(cores) => Some(cores.to_vec()),
            Computation::Gpu(_) | Computation::Law(_) => None,
        });
        let cores: Option<Vec<Vec<usize>>> = cores.collect();
        cores.map(|cores| cores.concat())
    }

    /// Returns the kind in words: `2 × 1 core`, or the model of the GPU.
    pub(super) fn words(&self) -> String {
        match self.like.computation() {
            Computation::Kernels(cores) => {
                let cores = counted(cores.len(), "core");
                match self.devices.len() {
                    1 => cores,
                    several => format!("{several} × {cores}"),
                }
            }
            Computation::Gpu(info) => info.name.clone(),
            Computation::Law(profile) => format!("sim:{}", profile.name),
        }
    }

    /// Returns whether devices of the kind may be lost while the host continues.
    pub(super) fn may_be_lost(&self) -> bool {
        !self.like.is_of_host()
    }
}
