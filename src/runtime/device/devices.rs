//! The devices of a run, and their memory spaces.

use std::sync::Arc;

use super::gpu::{FoundGpus, GpuError, GpuInfo};
use super::host::{Host, partition_name};
use super::ledger::Ledger;
use super::partitions::{Partitioning, consecutive};
use super::simulated::DeviceProfile;
use super::{Computation, Device, DeviceError, DeviceIndex, DeviceKind, MemorySpace, SpaceId};

/// The devices of a run; no two share a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    devices: Vec<Device>,
    spaces: Vec<MemorySpace>,
}

impl Devices {
    /// Returns the cores of the devices that compute on this machine's cores, or `None` if none
    /// does.
    pub fn host_cores(&self) -> Option<Vec<usize>> {
        let mut cores: Vec<usize> = Vec::new();
        for device in self.iter() {
            if let Computation::Kernels(own) = device.kind.computation() {
                cores.extend(own);
            }
        }
        (!cores.is_empty()).then_some(cores)
    }

    /// Returns one partition for each core, or a few of several cores on a large machine.
    pub fn default_of(host: &Host) -> Self {
        Devices::default_with(host, &FoundGpus::default())
    }

    /// Returns the GPUs that can be used, followed by the partitions of
    /// [`Devices::default_of`].
    pub fn default_with(host: &Host, gpus: &FoundGpus) -> Self {
        Devices::partitioned(host, gpus, &Partitioning::PerCore)
    }

    /// Returns the GPUs that can be used, followed by partitions of the cores.
    fn partitioned(host: &Host, gpus: &FoundGpus, partitioning: &Partitioning) -> Self {
        let mut all = Devices::none();
        for info in &gpus.usable {
            // `gpus` contains each GPU once.
            let _ = all.push_gpu(info);
        }
        for cores in consecutive(host, partitioning.size(host.cores.len())) {
            all.push_partition(cpu_partition(cores), host);
        }
        all
    }

    /// Returns the devices of this machine, GPUs that can be used before partitions, and a
    /// notice for each GPU that cannot be used. A machine without a driver, or a build
    /// without support for GPUs, makes no notice.
    pub fn discover(
        host: &Host,
        gpus: Result<FoundGpus, GpuError>,
        partitioning: &Partitioning,
    ) -> (Self, Vec<String>) {
        let with = |gpus: &FoundGpus| Devices::partitioned(host, gpus, partitioning);
        let none = FoundGpus::default();
        match gpus {
            Ok(found) => {
                let left_out = found.unusable.iter();
                let notices =
                    left_out.map(|(i, why)| format!("{} is not used: {why}", name_of(*i)));
                (with(&found), notices.collect())
            }
            Err(GpuError::NotBuilt | GpuError::NoDriver(_)) => (with(&none), Vec::new()),
            Err(why) => (with(&none), vec![format!("GPUs are not used: {why}")]),
        }
    }

    /// Returns `count` simulated devices of one profile, named `sim:PROFILE:NUMBER`.
    pub fn simulated(profile: &Arc<DeviceProfile>, count: usize) -> Self {
        let mut devices = Devices::none();
        for _ in 0..count {
            devices.push_simulated(profile);
        }
        devices
    }

    /// Returns an empty list of devices.
    pub(super) fn none() -> Self {
        Devices {
            devices: Vec::new(),
            spaces: Vec::new(),
        }
    }

    /// Adds a GPU with its own memory space.
    pub(super) fn push_gpu(&mut self, info: &GpuInfo) -> Result<(), DeviceError> {
        let name = name_of(info.index);
        if self.devices.iter().any(|d| d.name == name) {
            return Err(DeviceError::Twice(name));
        }
        self.spaces.push(MemorySpace {
            name: name.clone(),
            bytes: info.free_bytes,
        });
        self.devices.push(Device {
            name,
            kind: DeviceKind::Gpu {
                info: Arc::new(info.clone()),
            },
            space: SpaceId(self.spaces.len() - 1),
        });
        Ok(())
    }

    /// Adds a partition; all of them share the host's memory.
    pub(super) fn push_partition(&mut self, device: Device, host: &Host) {
        let space = self.host_space().unwrap_or_else(|| {
            self.spaces.push(MemorySpace {
                name: "host".into(),
                bytes: host.memory_bytes,
            });
            SpaceId(self.spaces.len() - 1)
        });
        self.devices.push(Device { space, ..device });
    }

    /// Adds a simulated device with its own memory space.
    pub(super) fn push_simulated(&mut self, profile: &Arc<DeviceProfile>) {
        let prefix = format!("sim:{}:", profile.name);
        let before = self.devices.iter().filter(|d| d.name.starts_with(&prefix));
        let name = format!("{prefix}{}", before.count());
        self.spaces.push(MemorySpace {
            name: name.clone(),
            bytes: profile.memory_bytes,
        });
        self.devices.push(Device {
            name,
            kind: DeviceKind::Simulated {
                profile: Arc::clone(profile),
            },
            space: SpaceId(self.spaces.len() - 1),
        });
    }

    /// Returns the devices and another one of the same kind as the device at `index`, as the last
    /// row. The other device is hypothetical: predictions may use it, engines may not. A partition
    /// shares the host's memory; other devices have their own.
    #[must_use]
    pub fn with_one_like(&self, index: DeviceIndex) -> Self {
        let mut more = self.clone();
        let like = self.get(index);
        let name = format!("one more {}", like.name);
        let space = match like.kind.is_of_host() {
            true => like.space,
            false => {
                more.spaces.push(MemorySpace {
                    name: name.clone(),
                    bytes: self.memory_bytes(index),
                });
                SpaceId(more.spaces.len() - 1)
            }
        };
        let kind = like.kind.clone();
        more.devices.push(Device { name, kind, space });
        more
    }

    /// Iterates over the devices in order: the rows of a matrix.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.devices.iter()
    }

    /// Iterates over the indices of the devices in order.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = DeviceIndex> + use<> {
        DeviceIndex::all(self.count())
    }

    /// Iterates over the devices in order, with their indices.
    pub fn enumerate(&self) -> impl Iterator<Item = (DeviceIndex, &Device)> {
        DeviceIndex::enumerate(&self.devices)
    }

    /// Returns the number of devices.
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// Returns the device at `index`.
    pub fn get(&self, index: DeviceIndex) -> &Device {
        &self.devices[index]
    }

    /// Returns the devices on which members are placed first: the accelerators, or all devices if
    /// there are no accelerators.
    pub fn preferred(&self) -> Vec<DeviceIndex> {
        let fast = self
            .indices()
            .filter(|&d| self.devices[d].kind.is_accelerator());
        let fast: Vec<DeviceIndex> = fast.collect();
        match fast.is_empty() {
            true => self.indices().collect(),
            false => fast,
        }
    }

    /// Returns the number of the accelerator at `index` in configurations, or `None` if the device
    /// is not an accelerator. The number of a simulated device is its position among the
    /// accelerators.
    pub fn gpu_number(&self, index: DeviceIndex) -> Option<u32> {
        let device = &self.devices[index];
        let number = match (device.kind.gpu(), device.kind.is_accelerator()) {
            (Some(info), _) => info.index,
            (None, true) => {
                let before = self.devices.iter().take(index.get());
                before.filter(|d| d.kind.is_accelerator()).count()
            }
            (None, false) => return None,
        };
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Returns only the device at `index`.
    #[must_use]
    pub fn only(&self, index: DeviceIndex) -> Self {
        Devices {
            devices: vec![self.devices[index].clone()],
            spaces: self.spaces.clone(),
        }
    }

    /// Returns the bytes of memory that the device at `index` can use.
    pub fn memory_bytes(&self, index: DeviceIndex) -> u64 {
        self.spaces[self.devices[index].space.0].bytes
    }

    /// Returns the first device of the same memory space, or `None` if that is device
    /// `index` itself.
    pub fn shares_memory_of(&self, index: DeviceIndex) -> Option<DeviceIndex> {
        let space = self.devices[index].space;
        let first = self.devices.iter().position(|device| device.space == space);
        first.map(DeviceIndex::new).filter(|first| *first != index)
    }

    /// Returns the memory spaces.
    pub fn spaces(&self) -> &[MemorySpace] {
        &self.spaces
    }

    /// Returns the host's memory space, or `None` if no device uses it.
    pub fn host_space(&self) -> Option<SpaceId> {
        let mut host = self.devices.iter();
        let host = host.find(|d| d.kind.is_of_host());
        host.map(|d| d.space)
    }

    /// Returns the devices with their memory reduced by the bookings of `ledger`.
    #[must_use]
    pub fn minus_booked(&self, ledger: &Ledger) -> Self {
        let mut rest = self.clone();
        for (index, device) in self.enumerate() {
            let space = &mut rest.spaces[device.space.0];
            space.bytes = self
                .memory_bytes(index)
                .saturating_sub(ledger.booked(index));
        }
        rest
    }

    /// Returns the devices with their memory limited to the bookings of `ledger`.
    #[must_use]
    pub fn limited_to_booked(&self, ledger: &Ledger) -> Self {
        let mut rest = self.clone();
        for (index, device) in self.enumerate() {
            rest.spaces[device.space.0].bytes = ledger.booked(index);
        }
        rest
    }

    /// Returns the devices, with no memory on the devices in `lost`.
    #[must_use]
    pub fn without_memory_of(&self, lost: &[DeviceIndex]) -> Self {
        let mut rest = self.clone();
        for &device in lost {
            let space = self.devices[device].space.0;
            // Other devices may still use the same memory.
            let alone = self
                .indices()
                .all(|d| lost.contains(&d) || self.devices[d].space.0 != space);
            if alone {
                rest.spaces[space].bytes = 0;
            }
        }
        rest
    }

    /// Returns only the partitions of this machine's cores.
    #[must_use]
    pub fn partitions(&self) -> Self {
        let is_partition = |device: &&Device| matches!(device.kind, DeviceKind::Cpu { .. });
        Devices {
            devices: self.devices.iter().filter(is_partition).cloned().collect(),
            spaces: self.spaces.clone(),
        }
    }

    /// Returns the devices as if all of their GPUs' memory were free.
    #[must_use]
    pub fn with_whole_gpus(&self) -> Self {
        let mut whole = self.clone();
        for device in &mut whole.devices {
            if let DeviceKind::Gpu { info } = &mut device.kind {
                let all = Arc::make_mut(info);
                all.free_bytes = all.memory_bytes;
                whole.spaces[device.space.0].bytes = all.memory_bytes;
            }
        }
        whole
    }

    /// Returns whether every device is simulated, so that serving can run in virtual time.
    pub fn all_simulated(&self) -> bool {
        self.devices.iter().all(|d| !d.kind.is_measured())
    }

    /// Returns whether any device is a GPU of this machine.
    pub fn has_gpu(&self) -> bool {
        self.devices.iter().any(|d| d.kind.gpu().is_some())
    }

    /// Returns whether any device is simulated, so that answers carry no meaning.
    pub fn is_simulated(&self) -> bool {
        self.devices.iter().any(|d| !d.kind.is_measured())
    }

    /// Returns the names of the devices in order.
    pub fn names(&self) -> Vec<String> {
        self.devices.iter().map(|d| d.name.clone()).collect()
    }
}

/// Returns the name of GPU number `index`.
fn name_of(index: usize) -> String {
    format!("cuda:{index}")
}

/// Returns the partition of `cores`, which are consecutive.
pub(super) fn cpu_partition(cores: &[usize]) -> Device {
    Device {
        name: partition_name(cores[0], cores[cores.len() - 1]),
        kind: DeviceKind::Cpu {
            cores: cores.to_vec(),
        },
        space: SpaceId(0),
    }
}
