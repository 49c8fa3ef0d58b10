//! Lists of devices made of other lists, and the rules that the devices of one list keep.

use std::sync::Arc;

use super::devices::Devices;
use super::host::Host;
use super::simulated::DeviceProfile;
use super::{Device, DeviceError, DeviceKind};

impl Devices {
    /// Returns the devices of several lists, in order. Simulated devices are numbered again.
    ///
    /// # Errors
    /// A core or a GPU is in two lists, or two profiles have the same name.
    pub fn joined<'a>(lists: impl IntoIterator<Item = &'a Devices>) -> Result<Self, DeviceError> {
        let mut all = Devices::none();
        for list in lists {
            for (index, device) in list.enumerate() {
                all.push(device, list.memory_bytes(index))?;
            }
        }
        match all.count() {
            0 => Err(DeviceError::None),
            _ => Ok(all),
        }
    }

    /// Adds a device of another list, which has `bytes` of memory.
    fn push(&mut self, device: &Device, bytes: u64) -> Result<(), DeviceError> {
        match &device.kind {
            DeviceKind::Cpu { .. } => {
                self.refuse_overlap(device)?;
                let host = Host {
                    cores: Vec::new(),
                    memory_bytes: bytes,
                };
                self.push_partition(device.clone(), &host);
            }
            DeviceKind::Gpu { info } => self.push_gpu(info)?,
            DeviceKind::Simulated { profile } => {
                self.refuse_other_profile(&device.name, profile)?;
                self.push_simulated(profile);
            }
        }
        Ok(())
    }

    /// Refuses a partition with a core that another partition has.
    pub(super) fn refuse_overlap(&self, device: &Device) -> Result<(), DeviceError> {
        match self.iter().find_map(|d| overlap(d, device)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Refuses a profile if another one has its name. `device` is the name of the device with the
    /// profile.
    pub(super) fn refuse_other_profile(
        &self,
        device: &str,
        profile: &Arc<DeviceProfile>,
    ) -> Result<(), DeviceError> {
        let known = self.iter().filter_map(|d| d.kind.profile());
        let mut same_name = known.filter(|p| p.name == profile.name);
        match same_name.any(|p| p != profile) {
            true => Err(DeviceError::ProfileTwice {
                device: device.to_owned(),
                profile: profile.name.clone(),
            }),
            false => Ok(()),
        }
    }
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
