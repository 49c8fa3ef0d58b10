//! A GPU that has no memory to offer: nobody is placed there, so there is nothing to do.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::batch::WorkerId;
use crate::serving::scheduler::{Discipline, WorkerSpec};

use super::super::factory::BuildError;
use super::driver::{
    DeviceCapabilities, DeviceDriver, DeviceFault, DriverHost, LossCause, NoSuchFault,
};

/// Stands in for a device that is not opened.
pub(super) struct AbsentDriver {
    device: usize,
}

impl AbsentDriver {
    /// For device number `device`.
    pub(super) fn new(device: usize) -> Self {
        AbsentDriver { device }
    }
}

impl DeviceDriver for AbsentDriver {
    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities {
            discipline: Discipline::SideBySide,
            keeps_samples: false,
            computes: true,
            may_fail: true,
            faults_on_demand: false,
        }
    }

    fn start(self: Arc<Self>, _host: &Arc<dyn DriverHost>) -> io::Result<()> {
        Ok(())
    }

    fn wake(&self) {}

    fn build(
        self: Arc<Self>,
        _host: &Arc<dyn DriverHost>,
        _spec: WorkerSpec,
    ) -> Result<(), BuildError> {
        Err(BuildError::Gone)
    }

    fn remove(&self, _worker: WorkerId) {}

    fn inject(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        fault: DeviceFault,
    ) -> Result<(), NoSuchFault> {
        match fault {
            DeviceFault::Slowed(_) => Err(NoSuchFault),
            DeviceFault::Lost => {
                host.lost(self.device, LossCause::TakenAway(None), &mut || {});
                Ok(())
            }
        }
    }

    fn stop(&self, _limit: Duration) {}
}
