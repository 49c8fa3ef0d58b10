//! Devices that disappear and come back; simulated ones that grow slow.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::allocation::Matrix;
use crate::lock::lock;
use crate::serving::reload::ReloadPlan;

use super::drivers::{DeviceCapabilities, DeviceFault, LossReason};
use super::engine::Engine;
use super::losses::{Loss, LossListener};
use super::reloader::ReloadError;

impl Engine {
    /// Lets a simulated device or a GPU disappear with everything on it, and moves to the
    /// matrix that `fallback` returns for the one that ran. Batches it was running are
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
            self.inject(device, DeviceFault::Lost)?;
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
        let opened = self.shared.drivers[device].reopen();
        opened.map_err(|reason| ReloadError::Worker(format!("`{name}`: {reason}")))?;
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
        self.inject(device, DeviceFault::Slowed(factor))
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

    /// Returns how a device takes part in serving, and which faults it may have.
    pub fn capabilities(&self, device: usize) -> DeviceCapabilities {
        self.shared.drivers[device].capabilities()
    }

    /// Tells `tell` of every device that stops working by itself from now on, and at once of
    /// those that did and were not evacuated. It is called in an engine's thread: what it
    /// does must be quick. There is one listener; another replaces it.
    ///
    /// While there is one, the door stays open although members may be without workers,
    /// until [`Engine::lose_device`] was called for the device: it must be, whatever comes
    /// of it.
    pub fn on_loss(&self, tell: impl Fn(Loss) + Send + Sync + 'static) {
        let tell: LossListener = Arc::new(tell);
        for loss in self.shared.losses.listen(Arc::clone(&tell)) {
            tell(loss);
        }
    }

    /// Returns why a device is gone, while it is and where its driver said so.
    pub fn loss_reason(&self, device: usize) -> Option<LossReason> {
        self.shared.drivers[device].loss()
    }

    fn inject(&self, device: usize, fault: DeviceFault) -> Result<(), ReloadError> {
        let driver = Arc::clone(&self.shared.drivers[device]);
        let injected = driver.inject(&self.shared.host(), fault);
        injected.map_err(|_| ReloadError::NotSimulated(self.name(device)))
    }

    fn may_vanish(&self, device: usize) -> Result<String, ReloadError> {
        match self.capabilities(device).may_be_lost() {
            true => Ok(self.name(device)),
            false => Err(ReloadError::NotSimulated(self.name(device))),
        }
    }

    fn name(&self, device: usize) -> String {
        self.shared.devices.get(device).name.clone()
    }
}
