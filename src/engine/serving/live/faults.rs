//! Devices that disappear and come back; simulated ones that grow slow.
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

/// Why a device cannot be lost, slowed or regained.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FaultError {
    /// It is lost already.
    #[error("`{0}` is gone")]
    Lost(String),
    /// It is not lost.
    #[error("`{0}` is not lost")]
    NotLost(String),
    /// It is a device of this machine.
    #[error("`{0}` is a real device; only simulated devices can be lost or slowed")]
    NotSimulated(String),
    /// A GPU could not be opened again; names it and says why.
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

/// The faults of an engine's devices. [`Engine::faults`] lends it.
#[derive(Clone, Copy)]
pub struct DeviceFaults<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the faults that devices have, or may have.
    pub fn faults(&self) -> DeviceFaults<'_> {
        DeviceFaults { engine: self }
    }
}

impl DeviceFaults<'_> {
    /// Looks whether a device may be lost now; true where it is lost already and waits to
    /// be evacuated.
    pub(super) fn begin_loss(&self, device: DeviceIndex) -> Result<bool, FaultError> {
        let name = self.may_vanish(device)?;
        let awaited = self.engine.state.losses.take(device);
        match self.engine.state.core().is_lost(device) && !awaited {
            true => Err(FaultError::Lost(name)),
            false => Ok(awaited),
        }
    }

    /// Lets a lost device come back, empty; a GPU is opened again.
    ///
    /// # Errors
    /// It is not gone, or does not come back.
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

    /// Lets operations of a simulated device take `factor` times as long.
    ///
    /// # Errors
    /// The device is a real one.
    pub fn slow(&self, device: DeviceIndex, factor: f64) -> Result<(), FaultError> {
        self.inject(device, DeviceFault::Slowed(factor))
    }

    /// Returns the devices that are gone.
    pub fn lost(&self) -> Vec<DeviceIndex> {
        let core = self.engine.state.core();
        self.engine
            .state
            .devices
            .indices()
            .filter(|&d| core.is_lost(d))
            .collect()
    }

    /// Returns how a device takes part in serving, and which faults it may have.
    pub fn capabilities(&self, device: DeviceIndex) -> DeviceCapabilities {
        self.engine.state.drivers[device].capabilities()
    }

    /// Tells `tell` of every device that stops working by itself from now on, and at once of
    /// those that did and were not evacuated. It is called in an engine's thread: what it
    /// does must be quick. There is one listener; another replaces it.
    ///
    /// While there is one, the door stays open although members may be without workers,
    /// until [`Engine::evacuate`] was called for the device: it must be, whatever comes
    /// of it.
    pub fn on_loss(&self, tell: impl Fn(Loss) + Send + Sync + 'static) {
        let tell: LossListener = Arc::new(tell);
        for loss in self.engine.state.losses.listen(Arc::clone(&tell)) {
            tell(loss);
        }
    }

    /// Returns why a device is gone, while it is and where its driver said so.
    pub fn loss_reason(&self, device: DeviceIndex) -> Option<LossReason> {
        self.engine.state.drivers[device].loss()
    }

    /// Checks that a device may be lost on demand.
    ///
    /// # Errors
    /// It is a device of this machine, or lost already.
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
