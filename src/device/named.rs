//! Devices as people name them: `cpu:0`, `cpu:2-3`, `sim:v100*16`.

use std::sync::Arc;

use thiserror::Error;

use super::simulated::{DeviceProfile, find_profile};
use super::{Device, DeviceKind, Devices, Host, MemorySpace, SpaceId, cpu_partition};

/// Why devices cannot be used as named.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    #[error(
        "device `{0}`: expected cpu:CORE or cpu:FIRST-LAST (cores of this machine), or sim:PROFILE or sim:PROFILE*COUNT"
    )]
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
    #[error("device `{device}`: {reason}")]
    Profile { device: String, reason: String },
    #[error("device `{device}`: expected 1 to {most} of a kind, found {found}")]
    Count {
        device: String,
        found: String,
        most: usize,
    },
    #[error("expected at least one device")]
    None,
}

/// More devices than this are taken for a mistake.
const MOST_DEVICES: usize = 1024;

impl Devices {
    /// The devices named, `cpu:0`, `cpu:2-3`, `sim:v100*4`; names may hold several,
    /// split by commas.
    ///
    /// # Errors
    /// A name is not understood, a core does not exist or is used twice, a profile
    /// does not exist or is wrong.
    pub fn named(names: &[String], host: &Host) -> Result<Self, DeviceError> {
        let mut found = Devices {
            devices: Vec::new(),
            spaces: Vec::new(),
        };
        let each = names.iter().flat_map(|n| n.split([',', ' ']));
        for name in each.filter(|n| !n.is_empty()) {
            match name.strip_prefix("sim:") {
                Some(profile) => found.add_simulated(name, profile)?,
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
        let mut devices = Devices {
            devices: Vec::new(),
            spaces: Vec::new(),
        };
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
        let known = self.spaces.iter().position(|s| s.name == "host");
        let space = known.unwrap_or_else(|| {
            self.spaces.push(MemorySpace {
                name: "host".into(),
                bytes: host.memory_bytes,
            });
            self.spaces.len() - 1
        });
        self.devices.push(Device {
            space: SpaceId(space),
            ..device
        });
        Ok(())
    }

    fn add_simulated(&mut self, name: &str, text: &str) -> Result<(), DeviceError> {
        let (profile, count) = text.split_once('*').unwrap_or((text, "1"));
        let number = count.parse().ok();
        let most = MOST_DEVICES - self.devices.len().min(MOST_DEVICES);
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
