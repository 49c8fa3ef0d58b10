//! What there is to compute on: CPU partitions, their memory, and its ledger.

mod discovery;
mod ledger;
mod pinning;
mod size;

use serde::Serialize;
use thiserror::Error;

pub use discovery::Host;
pub use ledger::{Booking, Ledger, NoRoom};
pub use pinning::{pin_current_thread, thread_pool};
pub use size::{format_bytes, parse_bytes};

/// Something workers compute on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// As the user names it: `cpu:0`, `cpu:0-1`.
    pub name: String,
    pub kind: DeviceKind,
    /// The memory space its workers use.
    pub space: SpaceId,
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A set of cores of this machine.
    Cpu { cores: Vec<usize> },
}

impl DeviceKind {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            DeviceKind::Cpu { .. } => "cpu",
        }
    }

    /// Threads that a batch is split over.
    pub fn threads(&self) -> usize {
        match self {
            DeviceKind::Cpu { cores } => cores.len(),
        }
    }

    /// Whether worst-fit decreasing prefers it (the paper, algorithm 1: GPUs first).
    pub fn is_accelerator(&self) -> bool {
        match self {
            DeviceKind::Cpu { .. } => false,
        }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    devices: Vec<Device>,
    spaces: Vec<MemorySpace>,
}

/// Why devices cannot be used as named.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    #[error("device `{0}`: expected cpu:CORE or cpu:FIRST-LAST (cores of this machine)")]
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
    #[error("expected at least one device")]
    None,
}

/// At most so many partitions by default: beyond it each gets several cores, since
/// every partition adds a copy of every worker's activations and a row to the matrix.
const MOST_PARTITIONS: usize = 8;

impl Devices {
    /// One partition a core, or a few of several cores on a large machine.
    pub fn default_of(host: &Host) -> Self {
        let size = host.cores.len().div_ceil(MOST_PARTITIONS).max(1);
        // A name is a range of cores, so a partition never reaches over a gap.
        let runs = host.cores.chunk_by(|a, b| a + 1 == *b);
        let devices = runs.flat_map(|run| run.chunks(size)).map(cpu_partition);
        let devices = devices.collect();
        Devices::in_host_memory(devices, host)
    }

    /// The devices named, `cpu:0`, `cpu:2-3`; names may hold several, split by commas.
    ///
    /// # Errors
    /// A name is not understood, a core does not exist or is used twice.
    pub fn named(names: &[String], host: &Host) -> Result<Self, DeviceError> {
        let mut devices: Vec<Device> = Vec::new();
        let each = names.iter().flat_map(|n| n.split([',', ' ']));
        for name in each.filter(|n| !n.is_empty()) {
            let device = parse(name, host)?;
            if let Some(error) = devices.iter().find_map(|d| overlap(d, &device)) {
                return Err(error);
            }
            devices.push(device);
        }
        if devices.is_empty() {
            return Err(DeviceError::None);
        }
        Ok(Devices::in_host_memory(devices, host))
    }

    fn in_host_memory(devices: Vec<Device>, host: &Host) -> Self {
        Devices {
            devices,
            spaces: vec![MemorySpace {
                name: "host".into(),
                bytes: host.memory_bytes,
            }],
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

    /// The first device alone.
    #[must_use]
    pub fn first(&self) -> Self {
        Devices {
            devices: self.devices[..1].to_vec(),
            spaces: self.spaces.clone(),
        }
    }

    /// Memory that device number `index` can use, in bytes.
    pub fn memory_bytes(&self, index: usize) -> u64 {
        self.spaces[self.devices[index].space.0].bytes
    }

    /// The memory spaces.
    pub fn spaces(&self) -> &[MemorySpace] {
        &self.spaces
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

fn parse(name: &str, host: &Host) -> Result<Device, DeviceError> {
    let syntax = || DeviceError::Syntax(name.to_owned());
    let range = name.strip_prefix("cpu:").ok_or_else(syntax)?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| text.parse::<usize>().map_err(|_| syntax());
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last - first > 4096 {
        return Err(syntax());
    }
    if let Some(core) = (first..=last).find(|c| !host.cores.contains(c)) {
        let available: Vec<String> = host.cores.iter().map(ToString::to_string).collect();
        return Err(DeviceError::NoSuchCore {
            device: name.to_owned(),
            core,
            available: available.join(", "),
        });
    }
    let cores: Vec<usize> = (first..=last).collect();
    Ok(Device {
        name: name.to_owned(),
        ..cpu_partition(&cores)
    })
}

fn overlap(a: &Device, b: &Device) -> Option<DeviceError> {
    let (DeviceKind::Cpu { cores: x }, DeviceKind::Cpu { cores: y }) = (&a.kind, &b.kind);
    let core = x.iter().find(|c| y.contains(c))?;
    Some(DeviceError::Overlap {
        first: a.name.clone(),
        second: b.name.clone(),
        core: *core,
    })
}
