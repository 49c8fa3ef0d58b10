//! GPUs as people name them: `cuda:0`, `cuda:0-1`, `cuda` for all that can be used.
//!
//! No GPU is touched that is not named; by default all are looked at.

use std::sync::Arc;

use super::gpu::{FoundGpus, GpuError, GpuInfo};
use super::{Device, DeviceError, DeviceKind, Devices, Host, MemorySpace, SpaceId};

/// What a device of that number is called.
pub(super) fn name_of(index: usize) -> String {
    format!("cuda:{index}")
}

/// Whether `name` is meant to be a GPU's.
pub(super) fn is_gpu(name: &str) -> bool {
    name == "cuda" || name.starts_with("cuda:")
}

impl Devices {
    /// What the machine has: GPUs that can be used, then partitions; and what an operator
    /// should know of those that cannot. No driver at all is no news.
    pub fn of_machine(host: &Host, gpus: Result<FoundGpus, GpuError>) -> (Self, Vec<String>) {
        match gpus {
            Ok(found) => {
                let left_out = found.unusable.iter();
                let notices =
                    left_out.map(|(i, why)| format!("{} is left out: {why}", name_of(*i)));
                (Devices::default_with(host, &found), notices.collect())
            }
            Err(GpuError::NotBuilt | GpuError::NoDriver(_)) => {
                (Devices::default_of(host), Vec::new())
            }
            Err(why) => {
                let notice = format!("GPUs are left out: {why}");
                (Devices::default_of(host), vec![notice])
            }
        }
    }

    /// The same devices as if all of their GPUs' memory were free.
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

    /// Adds the GPUs that `name` stands for.
    pub(super) fn add_gpus(
        &mut self,
        name: &str,
        look: &impl Fn(Option<usize>) -> Result<FoundGpus, GpuError>,
    ) -> Result<(), DeviceError> {
        let refuse = |reason| DeviceError::Gpu {
            device: name.to_owned(),
            reason,
        };
        let infos = match numbers(name)? {
            None => all(look(None).map_err(refuse)?).map_err(refuse)?,
            Some((first, last)) => (first..=last)
                .map(|index| usable(&look(Some(index))?, index))
                .collect::<Result<Vec<_>, _>>()
                .map_err(refuse)?,
        };
        infos.iter().try_for_each(|info| self.push_gpu(info))
    }

    /// Adds a GPU with its memory.
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
}

/// The first and the last number of a name; none where it means all.
fn numbers(name: &str) -> Result<Option<(usize, usize)>, DeviceError> {
    let syntax = || DeviceError::Syntax(name.to_owned());
    let Some(range) = name.strip_prefix("cuda:") else {
        return Ok(None);
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| text.parse::<usize>().map_err(|_| syntax());
    let (first, last) = (number(first)?, number(last)?);
    match first <= last && last - first <= MOST_GPUS {
        true => Ok(Some((first, last))),
        false => Err(syntax()),
    }
}

/// No machine has more; a longer range is a mistake.
const MOST_GPUS: usize = 4096;

fn usable(found: &FoundGpus, index: usize) -> Result<GpuInfo, GpuError> {
    if let Some(info) = found.usable.iter().find(|i| i.index == index) {
        return Ok(info.clone());
    }
    let why = found.unusable.iter().find(|(i, _)| *i == index);
    Err(why.map_or_else(|| absent(found, index), |(_, why)| why.clone()))
}

/// Those that can be used; where none can, what is wrong with the first, or that there is
/// none.
fn all(found: FoundGpus) -> Result<Vec<GpuInfo>, GpuError> {
    if !found.usable.is_empty() {
        return Ok(found.usable);
    }
    let first = found.unusable.first();
    Err(first.map_or_else(|| absent(&found, 0), |(_, why)| why.clone()))
}

fn absent(found: &FoundGpus, index: usize) -> GpuError {
    GpuError::Absent {
        index,
        count: found.usable.len() + found.unusable.len(),
    }
}
