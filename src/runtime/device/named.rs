//! Devices by the names that users give them: `cpu:0`, `cpu:2-3`, `cuda:0`, `sim:v100*16`.
//!
//! Only named GPUs are touched. Without names, all GPUs are.

use super::devices::{Devices, cpu_partition};
use super::gpu::{FoundGpus, GpuError, GpuInfo, find_gpu, find_gpus};
use super::host::Host;
use super::simulated::find_profile;
use super::{Device, DeviceError};

/// The kind of device at the beginning of a name, and the rest of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKind<'a> {
    /// `cpu:` and these cores.
    Partition(&'a str),
    /// `cuda`, alone or with the numbers of GPUs.
    Gpu,
    /// `sim:` and this profile, perhaps with a number of devices.
    Simulated(&'a str),
}

impl<'a> NamedKind<'a> {
    /// Returns the kind at the beginning of `name`, or `None` if `name` is not a device name.
    pub fn from_name(name: &'a str) -> Option<Self> {
        let partition = || name.strip_prefix("cpu:").map(NamedKind::Partition);
        let simulated = || name.strip_prefix("sim:").map(NamedKind::Simulated);
        let is_gpu = name == "cuda" || name.starts_with("cuda:");
        let gpu = is_gpu.then_some(NamedKind::Gpu);
        gpu.or_else(partition).or_else(simulated)
    }
}

impl Devices {
    /// The most simulated devices of a name; a larger number is taken for a mistake.
    pub const MOST: usize = 1024;

    /// Returns the devices of `names`, such as `cpu:0`, `cpu:2-3`, `cuda:0` or `sim:v100*4`.
    /// A name may hold several, separated by commas. No GPU is touched that is not named.
    ///
    /// # Errors
    /// A name is not understood, a core does not exist or is used twice, a GPU cannot be
    /// used, or a profile does not exist or is wrong.
    pub fn from_names(names: &[String], host: &Host) -> Result<Self, DeviceError> {
        Devices::named_with(names, host, |number| match number {
            Some(number) => find_gpu(number),
            None => find_gpus(),
        })
    }

    /// Returns the devices of `names`. `look` finds the GPU of a number, or all GPUs.
    ///
    /// # Errors
    /// As for [`Devices::from_names`].
    pub fn named_with(
        names: &[String],
        host: &Host,
        look: impl Fn(Option<usize>) -> Result<FoundGpus, GpuError>,
    ) -> Result<Self, DeviceError> {
        let mut found = Devices::none();
        let each = names.iter().flat_map(|n| n.split([',', ' ']));
        for name in each.filter(|n| !n.is_empty()) {
            match NamedKind::from_name(name) {
                Some(NamedKind::Simulated(profile)) => found.add_simulated(name, profile)?,
                Some(NamedKind::Gpu) => found.add_gpus(name, &look)?,
                Some(NamedKind::Partition(_)) | None => found.add_partition(name, host)?,
            }
        }
        if found.count() == 0 {
            return Err(DeviceError::None);
        }
        Ok(found)
    }

    fn add_partition(&mut self, name: &str, host: &Host) -> Result<(), DeviceError> {
        let device = parse(name, host)?;
        self.refuse_overlap(&device)?;
        self.push_partition(device, host);
        Ok(())
    }

    fn add_simulated(&mut self, name: &str, text: &str) -> Result<(), DeviceError> {
        let (profile, count) = text.split_once('*').unwrap_or((text, "1"));
        let number = count.parse().ok();
        let most = Devices::MOST - self.count().min(Devices::MOST);
        let count = number.filter(|n| (1..=most).contains(n));
        let count = count.ok_or_else(|| DeviceError::Count {
            device: name.to_owned(),
            found: text.rsplit('*').next().unwrap_or_default().to_owned(),
            most,
        })?;
        let profile = find_profile(profile).map_err(|reason| DeviceError::Profile {
            device: name.to_owned(),
            reason,
        })?;
        self.refuse_other_profile(name, &profile)?;
        for _ in 0..count {
            self.push_simulated(&profile);
        }
        Ok(())
    }

    /// Adds the GPUs of `name`.
    fn add_gpus(
        &mut self,
        name: &str,
        look: &impl Fn(Option<usize>) -> Result<FoundGpus, GpuError>,
    ) -> Result<(), DeviceError> {
        let refuse = |reason| DeviceError::Gpu {
            device: name.to_owned(),
            reason,
        };
        let infos = match numbers(name)? {
            None => all_usable(look(None).map_err(refuse)?).map_err(refuse)?,
            Some((first, last)) => (first..=last)
                .map(|index| usable(&look(Some(index))?, index))
                .collect::<Result<Vec<_>, _>>()
                .map_err(refuse)?,
        };
        infos.iter().try_for_each(|info| self.push_gpu(info))
    }
}

fn parse(name: &str, host: &Host) -> Result<Device, DeviceError> {
    let syntax = || DeviceError::Syntax(name.to_owned());
    let Some(NamedKind::Partition(range)) = NamedKind::from_name(name) else {
        return Err(syntax());
    };
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

/// Returns the first and the last number of a GPU's name, or `None` if it means all GPUs.
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

/// The most GPUs of a range; a longer range is taken for a mistake.
const MOST_GPUS: usize = 4096;

fn usable(found: &FoundGpus, index: usize) -> Result<GpuInfo, GpuError> {
    if let Some(info) = found.usable.iter().find(|i| i.index == index) {
        return Ok(info.clone());
    }
    let why = found.unusable.iter().find(|(i, _)| *i == index);
    Err(why.map_or_else(|| absent(found, index), |(_, why)| why.clone()))
}

/// Returns the usable GPUs.
///
/// # Errors
/// No GPU is usable: returns the reason of the first GPU, or that there is none.
fn all_usable(found: FoundGpus) -> Result<Vec<GpuInfo>, GpuError> {
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
