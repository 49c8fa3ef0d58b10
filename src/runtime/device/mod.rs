//! What there is to compute on: CPU partitions, GPUs and simulated devices, their memory,
//! and its ledger.

#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod discovery;
mod error;
pub mod gpu;
mod gpus;
mod ledger;
mod named;
mod pinning;
pub mod simulated;
mod size;

use std::sync::Arc;

use serde::Serialize;

pub use discovery::Host;
pub use error::DeviceError;
pub use ledger::{Booking, Ledger, NoRoom};
pub use pinning::{pin_current_thread, thread_pool, yield_to_all_others};
pub use size::{format_bytes, parse_bytes};

use gpu::{FoundGpus, GpuInfo};
use simulated::{DeviceClass, DeviceProfile};

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

/// The devices of a run; no two share a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    devices: Vec<Device>,
    spaces: Vec<MemorySpace>,
}

/// At most so many partitions by default: beyond it each gets several cores, since
/// every partition adds a copy of every worker's activations and a row to the matrix.
const MOST_PARTITIONS: usize = 8;

impl Devices {
    /// One partition a core, or a few of several cores on a large machine.
    pub fn default_of(host: &Host) -> Self {
        Devices::default_with(host, &FoundGpus::default())
    }

    /// The same behind the GPUs that can be used.
    pub fn default_with(host: &Host, gpus: &FoundGpus) -> Self {
        let mut all = Devices::none();
        for info in &gpus.usable {
            // Whoever found them found each once.
            let _ = all.push_gpu(info);
        }
        let size = host.cores.len().div_ceil(MOST_PARTITIONS).max(1);
        // A name is a range of cores, so a partition never reaches over a gap.
        let runs = host.cores.chunk_by(|a, b| a + 1 == *b);
        for cores in runs.flat_map(|run| run.chunks(size)) {
            all.push_partition(cpu_partition(cores), host);
        }
        all
    }

    fn none() -> Self {
        Devices {
            devices: Vec::new(),
            spaces: Vec::new(),
        }
    }

    /// The devices in order: the rows of a matrix.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.devices.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// Device number `index`.
    pub fn get(&self, index: usize) -> &Device {
        &self.devices[index]
    }

    /// Accelerators where there are any, else all: what members are put on first.
    pub fn preferred(&self) -> Vec<usize> {
        let fast = (0..self.count()).filter(|&d| self.devices[d].kind.is_accelerator());
        let fast: Vec<usize> = fast.collect();
        match fast.is_empty() {
            true => (0..self.count()).collect(),
            false => fast,
        }
    }

    /// Device number `index` alone.
    #[must_use]
    pub fn alone(&self, index: usize) -> Self {
        Devices {
            devices: vec![self.devices[index].clone()],
            spaces: self.spaces.clone(),
        }
    }

    /// Memory that device number `index` can use, in bytes.
    pub fn memory_bytes(&self, index: usize) -> u64 {
        self.spaces[self.devices[index].space.0].bytes
    }

    /// The first device of the same memory space, where that is another one.
    pub fn shares_memory_of(&self, index: usize) -> Option<usize> {
        let space = self.devices[index].space;
        let first = self.devices.iter().position(|device| device.space == space);
        first.filter(|first| *first != index)
    }

    /// The memory spaces.
    pub fn spaces(&self) -> &[MemorySpace] {
        &self.spaces
    }

    /// The host's memory; `None` where no device uses it.
    pub fn host_space(&self) -> Option<SpaceId> {
        let mut host = self.devices.iter();
        let host = host.find(|d| matches!(d.kind, DeviceKind::Cpu { .. }));
        host.map(|d| d.space)
    }

    /// The same devices with what `ledger` books taken from their memory.
    #[must_use]
    pub fn beside(&self, ledger: &Ledger) -> Self {
        let mut rest = self.clone();
        for (index, device) in self.devices.iter().enumerate() {
            let space = &mut rest.spaces[device.space.0];
            space.bytes = self
                .memory_bytes(index)
                .saturating_sub(ledger.booked(index));
        }
        rest
    }

    /// The same devices with no more memory than `ledger` books.
    #[must_use]
    pub fn within(&self, ledger: &Ledger) -> Self {
        let mut rest = self.clone();
        for (index, device) in self.devices.iter().enumerate() {
            rest.spaces[device.space.0].bytes = ledger.booked(index);
        }
        rest
    }

    /// The same devices where those in `lost` have no memory any more.
    #[must_use]
    pub fn without(&self, lost: &[usize]) -> Self {
        let mut rest = self.clone();
        for &device in lost {
            let space = self.devices[device].space.0;
            // Another device may use the same memory still.
            let alone =
                (0..self.count()).all(|d| lost.contains(&d) || self.devices[d].space.0 != space);
            if alone {
                rest.spaces[space].bytes = 0;
            }
        }
        rest
    }

    /// Whether every device is simulated, so that it can all happen in virtual time.
    pub fn all_simulated(&self) -> bool {
        self.devices.iter().all(|d| d.kind.profile().is_some())
    }

    /// Whether any device is a GPU of this machine.
    pub fn has_gpu(&self) -> bool {
        self.devices.iter().any(|d| d.kind.gpu().is_some())
    }

    /// Whether any device is simulated, so that answers mean nothing.
    pub fn is_simulated(&self) -> bool {
        self.devices.iter().any(|d| d.kind.profile().is_some())
    }

    /// Names in order.
    pub fn names(&self) -> Vec<String> {
        self.devices.iter().map(|d| d.name.clone()).collect()
    }
}

fn cpu_partition(cores: &[usize]) -> Device {
    let (first, last) = (cores[0], cores[cores.len() - 1]);
    let name = if first == last {
        format!("cpu:{first}")
    } else {
        format!("cpu:{first}-{last}")
    };
    Device {
        name,
        kind: DeviceKind::Cpu {
            cores: cores.to_vec(),
        },
        space: SpaceId(0),
    }
}
