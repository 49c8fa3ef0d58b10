//! Lost devices and their return, and the slowdown of simulated ones.
//!
//! A lost device returns its batches to the queues. No row of them was folded, so no request gets
//! two answers.

use std::sync::Arc;

use thiserror::Error;

use crate::serving::events::EngineEvent;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::device::DeviceIndex;

use super::drivers::{DeviceCapabilities, DeviceFault, LossReason};
use super::engine::Engine;
use super::state::{Loss, LossListener};

/// The reason why a device cannot be lost, slowed or regained.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultError {
    /// The device is already lost.
    #[error("`{0}` is gone")]
    Lost(String),
    /// The device is not lost.
    #[error("`{0}` is not lost")]
    NotLost(String),
    /// The device is not simulated.
    #[error("`{0}` is a real device; only simulated devices can be lost or slowed")]
    NotSimulated(String),
    /// A GPU could not be opened again; holds its name and the reason.
    #[error("a new worker did not start: {0}")]
    NotOpened(String),
}

impl Coded for FaultError {
    fn code(&self) -> Code {
        match self {
            FaultError::Lost(_) => Code::DeviceLost,
            FaultError::NotLost(_) => Code::DeviceNotLost,
            FaultError::NotSimulated(_) => Code::NotASimulatedDevice,
            FaultError::NotOpened(_) => Code::DeviceNotOpened,
        }
    }
}

/// The faults of an engine's devices, borrowed by [`Engine::faults`].
#[derive(Clone, Copy)]
pub struct DeviceFaults<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the faults of the devices.
    pub fn faults(&self) -> DeviceFaults<'_> {
        DeviceFaults { engine: self }
    }
}

impl DeviceFaults<'_> {
    /// Checks that a device may be lost now. Returns `true` if it is already lost and waits to be
    /// evacuated.
    pub(super) fn begin_loss(&self, device: DeviceIndex) -> Result<bool, FaultError> {
        let name = self.may_vanish(device)?;
        let awaited = self.engine.state.losses.take(device);
        match self.engine.state.core().is_lost(device) && !awaited {
            true => Err(FaultError::Lost(name)),
            false => Ok(awaited),
        }
    }

    /// Makes a lost device available again, without workers. A GPU is opened again.
    ///
    /// # Errors
    /// The device is not lost, or cannot be opened.
    pub fn regain(&self, device: DeviceIndex) -> Result<(), FaultError> {
        let one_at_a_time = self.engine.applying.lock();
        let name = self.may_vanish(device)?;
        if !self.engine.state.core().is_lost(device) {
            return Err(FaultError::NotLost(name));
        }
        let opened = self.engine.state.drivers[device].reopen();
        opened.map_err(|reason| FaultError::NotOpened(format!("`{name}`: {reason}")))?;
        self.engine.state.losses.take(device);
        self.engine.state.core().regain_device(device);
        drop(one_at_a_time);
        self.engine
            .state
            .emit(EngineEvent::DeviceBack { device: name });
        Ok(())
    }

    /// Makes the operations of a simulated device take longer by `factor`.
    ///
    /// # Errors
    /// The device is not simulated.
    pub fn slow(&self, device: DeviceIndex, factor: f64) -> Result<(), FaultError> {
        self.inject(device, DeviceFault::Slowed(factor))
    }

    /// Returns the lost devices.
    pub fn lost(&self) -> Vec<DeviceIndex> {
        let core = self.engine.state.core();
        self.engine
            .state
            .devices
            .indices()
            .filter(|&d| core.is_lost(d))
            .collect()
    }

    /// Takes over the lost devices of another engine on which this one has no workers.
    pub(super) fn take_over(&self, lost: &[DeviceIndex]) {
        let matrix = self.engine.matrix();
        let is_used = |device| matrix.workers().any(|(cell, _)| cell.device == device);
        for device in lost.iter().copied().filter(|device| !is_used(*device)) {
            // Every device that can be lost takes this fault.
            let _ = self.inject(device, DeviceFault::Lost);
        }
    }

    /// Returns whether a driver reported a loss that was not evacuated yet.
    pub(crate) fn is_loss_awaited(&self) -> bool {
        self.engine.state.losses.are_awaited()
    }

    /// Returns the role of a device in serving, and its possible faults.
    pub fn capabilities(&self, device: DeviceIndex) -> DeviceCapabilities {
        self.engine.state.drivers[device].capabilities()
    }

    /// Sets the listener for devices that fail by themselves. It is also called at once for earlier
    /// losses that were not evacuated. It runs in an engine's thread, so it must be quick. A second
    /// listener replaces the first.
    ///
    /// With a listener, the door stays open although members may be without workers, until
    /// [`Engine::evacuate`] is called for the device. The listener must ensure this call in any
    /// case.
    pub fn on_loss(&self, tell: impl Fn(Loss) + Send + Sync + 'static) {
        let tell: LossListener = Arc::new(tell);
        for loss in self.engine.state.losses.listen(Arc::clone(&tell)) {
            tell(loss);
        }
    }

    /// Returns the reason of a device's loss, or `None` if it is available or its driver reported
    /// no reason.
    pub fn loss_reason(&self, device: DeviceIndex) -> Option<LossReason> {
        self.engine.state.drivers[device].loss()
    }

    /// Checks that a device can be lost on demand.
    ///
    /// # Errors
    /// The device is not simulated, or is already lost.
    pub fn check_loss_on_demand(&self, device: DeviceIndex) -> Result<(), FaultError> {
        if !self.capabilities(device).faults_on_demand {
            return Err(FaultError::NotSimulated(self.name(device)));
        }
        match self.lost().contains(&device) {
            true => Err(FaultError::Lost(self.name(device))),
            false => Ok(()),
        }
    }

    pub(super) fn inject(&self, device: DeviceIndex, fault: DeviceFault) -> Result<(), FaultError> {
        let driver = Arc::clone(&self.engine.state.drivers[device]);
        let injected = driver.inject(&self.engine.state.host(), fault);
        injected.map_err(|_| FaultError::NotSimulated(self.name(device)))
    }

    fn may_vanish(&self, device: DeviceIndex) -> Result<String, FaultError> {
        match self.capabilities(device).may_be_lost() {
            true => Ok(self.name(device)),
            false => Err(FaultError::NotSimulated(self.name(device))),
        }
    }

    fn name(&self, device: DeviceIndex) -> String {
        self.engine.state.devices.get(device).name.clone()
    }
}
