//! Devices as people name them: `cpu:0`, `cpu:2-3`, `cuda:0`, `sim:v100*16`.

use std::sync::Arc;

use super::gpu::{FoundGpus, GpuError, find_gpus, look_at};
use super::gpus::is_gpu;
use super::simulated::{DeviceProfile, find_profile};
use super::{Device, DeviceError, DeviceKind, Devices, Host, MemorySpace, SpaceId, cpu_partition};

impl Devices {
    /// More devices than this are taken for a mistake.
    pub const MOST: usize = 1024;

    /// The devices named, `cpu:0`, `cpu:2-3`, `cuda:0`, `sim:v100*4`; names may hold
    /// several, split by commas. No GPU is touched that is not named.
    ///
    /// # Errors
    /// A name is not understood, a core does not exist or is used twice, a GPU cannot be
    /// used, a profile does not exist or is wrong.
    pub fn named(names: &[String], host: &Host) -> Result<Self, DeviceError> {
        Devices::named_with(names, host, |number| match number {
            Some(number) => look_at(number),
            None => find_gpus(),
        })
    }

    /// The same among the GPUs that `look` finds: the one of a number, or all.
    ///
    /// # Errors
    /// As [`Devices::named`].
    pub fn named_with(
        names: &[String],
        host: &Host,
        look: impl Fn(Option<usize>) -> Result<FoundGpus, GpuError>,
    ) -> Result<Self, DeviceError> {
        let mut found = Devices::none();
        let each = names.iter().flat_map(|n| n.split([',', ' ']));
        for name in each.filter(|n| !n.is_empty()) {
            match name.strip_prefix("sim:") {
                Some(profile) => found.add_simulated(name, profile)?,
                None if is_gpu(name) => found.add_gpus(name, &look)?,
                None => found.add_partition(name, host)?,
            }
        }
        if found.devices.is_empty() {
            return Err(DeviceError::None);
        }
        Ok(found)
    }

    /// `count` simulated devices of one profile, named `sim:PROFILE:NUMBER`.
    pub fn simulated(profile: &Arc<DeviceProfile>, count: usize) -> Self {
        let mut devices = Devices::none();
        for _ in 0..count {
            devices.push_simulated(profile);
        }
        devices
    }

    fn add_partition(&mut self, name: &str, host: &Host) -> Result<(), DeviceError> {
        let device = parse(name, host)?;
        if let Some(error) = self.devices.iter().find_map(|d| overlap(d, &device)) {
            return Err(error);
        }
        self.push_partition(device, host);
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

    fn add_simulated(&mut self, name: &str, text: &str) -> Result<(), DeviceError> {
        let (profile, count) = text.split_once('*').unwrap_or((text, "1"));
        let number = count.parse().ok();
        let most = Devices::MOST - self.devices.len().min(Devices::MOST);
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
        let mut known = self.devices.iter().filter_map(|d| d.kind.profile());
        if known.any(|p| p.name == profile.name && *p != profile) {
            let reason = format!("another profile is called `{}` too", profile.name);
            return Err(DeviceError::Profile {
                device: name.to_owned(),
                reason,
            });
        }
        for _ in 0..count {
            self.push_simulated(&profile);
        }
        Ok(())
    }

    fn push_simulated(&mut self, profile: &Arc<DeviceProfile>) {
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
    let (DeviceKind::Cpu { cores: x }, DeviceKind::Cpu { cores: y }) = (&a.kind, &b.kind) else {
        return None;
    };
    let core = x.iter().find(|c| y.contains(c))?;
    Some(DeviceError::Overlap {
        first: a.name.clone(),
        second: b.name.clone(),
        core: *core,
    })
}
