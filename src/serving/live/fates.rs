//! Simulated devices that disappear, come back and grow slow.

use std::num::NonZeroU32;

use crate::allocation::Matrix;
use crate::lock::lock;
use crate::serving::reload::ReloadPlan;

use super::engine::Engine;
use super::reloader::ReloadError;
use super::simulated::Fate;

impl Engine {
    /// Lets a simulated device disappear with everything on it, and moves to the
    /// matrix that `refuge` gives for the one that ran. Batches it was running are
    /// run by others; no request is lost by it, unless there is no refuge.
    ///
    /// # Errors
    /// The device is a real one or gone already, or there is no refuge: members that
    /// had no other worker then have none, and the door is closed.
    pub fn lose_device(
        &self,
        device: usize,
        refuge: impl FnOnce(&Matrix) -> Result<Matrix, String>,
        watch: impl FnMut(&str),
    ) -> Result<ReloadPlan, ReloadError> {
        let _one_at_a_time = lock(&self.reloading);
        let name = self.only_simulated(device)?;
        if self.shared.core().is_lost(device) {
            return Err(ReloadError::Lost(name));
        }
        // Until the refuge is reached members may be without a worker.
        self.shared.core().set_reloading(true);
        self.shared.core().lose_device(device);
        self.befall(device, Fate::Lost);
        self.shared
            .notice(format!("error: device `{name}` is gone"));
        self.shared.wake();
        let target = refuge(&self.matrix()).map_err(ReloadError::NoRefuge);
        self.reach(target, watch)
    }

    /// Lets a lost device come back, empty.
    ///
    /// # Errors
    /// It is not gone.
    pub fn regain_device(&self, device: usize) -> Result<(), ReloadError> {
        let name = self.only_simulated(device)?;
        if !self.shared.core().is_lost(device) {
            return Err(ReloadError::NotLost(name));
        }
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
        self.befall(device, Fate::Slowed(factor));
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

    fn only_simulated(&self, device: usize) -> Result<String, ReloadError> {
        let device = self.shared.devices.get(device);
        match device.kind.profile() {
            Some(_) => Ok(device.name.clone()),
            None => Err(ReloadError::NotSimulated(device.name.clone())),
        }
    }

    fn befall(&self, device: usize, fate: Fate) {
        lock(&self.shared.lanes[device].fates).push(fate);
        self.shared.poke(&[device]);
    }
}
