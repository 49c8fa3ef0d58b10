//! Devices that disappear and come back; simulated ones that grow slow.

use std::num::NonZeroU32;

use crate::allocation::Matrix;
use crate::device::DeviceKind;
use crate::lock::lock;
use crate::serving::reload::ReloadPlan;

use super::engine::Engine;
use super::gpu::take_away;
use super::reloader::ReloadError;
use super::simulated::DeviceFault;

impl Engine {
    /// Lets a simulated device or a GPU disappear with everything on it, and moves to the
    /// matrix that `fallback` gives for the one that ran. Batches it was running are
    /// run by others; no request is lost by it, unless there is no refuge. Of a GPU that
    /// was lost by itself ([`Engine::on_loss`]) only the workers are moved.
    ///
    /// # Errors
    /// The device is a CPU partition or gone already, or there is no refuge: members that
    /// had no other worker then have none, and the door is closed.
    pub fn lose_device(
        &self,
        device: usize,
        fallback: impl FnOnce(&Matrix) -> Result<Matrix, String>,
        watch: impl FnMut(&str),
    ) -> Result<ReloadPlan, ReloadError> {
        let _one_at_a_time = lock(&self.reloading);
        let name = self.may_vanish(device)?;
        let known = self.shared.losses.take(device);
        if self.shared.core().is_lost(device) && !known {
            return Err(ReloadError::Lost(name));
        }
        // Until the refuge is reached members may be without a worker.
        self.shared.core().set_reloading(true);
        if !known {
            self.vanish(device, &name);
        }
        // Its workers may need the memory that somebody measures in.
        self.reserve.take_back(self.options.drain_limit);
        let target = fallback(&self.matrix()).map_err(ReloadError::NoRefuge);
        self.reach(target, watch)
    }

    /// Lets a lost device come back, empty; a GPU is opened again.
    ///
    /// # Errors
    /// It is not gone, or does not come back.
    pub fn regain_device(&self, device: usize) -> Result<(), ReloadError> {
        let _one_at_a_time = lock(&self.reloading);
        let name = self.may_vanish(device)?;
        if !self.shared.core().is_lost(device) {
            return Err(ReloadError::NotLost(name));
        }
        self.reopen(device)?;
        self.shared.losses.take(device);
        self.shared.core().regain_device(device);
        self.shared
            .notice(format!("device `{name}` is there again"));
        Ok(())
    }

    /// Lets operations of a simulated device take `factor` times as long.
    ///
    /// # Errors
    /// The device is a real one.
    pub fn slow_device(&self, device: usize, factor: f64) -> Result<(), ReloadError> {
        self.only_simulated(device)?;
        self.inject(device, DeviceFault::Slowed(factor));
        Ok(())
    }

    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    pub fn set_max_inf(&self, device: usize, most: Option<NonZeroU32>) {
        self.shared.core().set_max_inf(device, most);
        self.shared.wake();
    }

    /// Devices that are gone.
    pub fn lost_devices(&self) -> Vec<usize> {
        let core = self.shared.core();
        (0..self.shared.devices.count())
            .filter(|&d| core.is_lost(d))
            .collect()
    }

    fn vanish(&self, device: usize, name: &str) {
        let board = self.shared.lanes[device].board.as_ref();
        if let Some(opened) = board.and_then(|b| b.opened()) {
            return take_away(&self.shared, &opened);
        }
        self.shared.core().lose_device(device);
        self.inject(device, DeviceFault::Lost);
        self.shared
            .notice(format!("error: device `{name}` is gone"));
        self.shared.wake();
    }

    fn may_vanish(&self, device: usize) -> Result<String, ReloadError> {
        match self.shared.devices.get(device).kind {
            DeviceKind::Gpu { .. } => Ok(self.shared.devices.get(device).name.clone()),
            _ => self.only_simulated(device),
        }
    }

    fn only_simulated(&self, device: usize) -> Result<String, ReloadError> {
        let device = self.shared.devices.get(device);
        match device.kind.profile() {
            Some(_) => Ok(device.name.clone()),
            None => Err(ReloadError::NotSimulated(device.name.clone())),
        }
    }

    fn inject(&self, device: usize, fate: DeviceFault) {
        lock(&self.shared.lanes[device].fates).push(fate);
        self.shared.poke(&[device]);
    }
}
