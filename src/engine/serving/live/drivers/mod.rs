//! The drivers of devices. [`DeviceDriver`] is the interface of drivers, and [`DriverHost`] that of
//! the engine. Each kind of device has its own module, and no other module depends on it.

mod driver;
mod gpu;
mod partition;
mod simulated;
mod thread;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::serving::batch::WorkerId;
use crate::serving::scheduler::{Discipline, WorkerSpec};
use divisi_model::profile::Costs;
use divisi_runtime::device::{Device, DeviceIndex, DeviceKind, Devices, NoThread, ThreadPriority};

use super::factory::BuildError;

pub(crate) use driver::{
    BatchError, Completed, DeviceDriver, DeviceFault, DriverHost, DriverTurn, LossCause,
    ServedNetworks,
};
pub use driver::{DeviceCapabilities, DeviceVitals, LossReason};
pub use gpu::GpuRunner;
pub(crate) use thread::spin;

use driver::NoSuchFault;
use gpu::GpuSlot;
use partition::PartitionDriver;
use simulated::SimulatedDriver;

/// The reason why a device cannot be driven.
#[derive(Debug, Error)]
pub enum DriverError {
    /// The device cannot be used.
    #[error("`{device}` cannot be used: {reason}")]
    Device {
        /// The device's name.
        device: String,
        /// The reason.
        reason: Box<BuildError>,
    },
    /// No thread could be started.
    #[error(transparent)]
    Threads(#[from] NoThread),
}

/// Opens a driver for each device. The threads of partitions have the given priority.
///
/// # Errors
/// A device cannot be used. No driver is open then.
pub(crate) fn open(
    networks: &ServedNetworks,
    devices: &Devices,
    costs: &Arc<Costs>,
    priority: Option<ThreadPriority>,
) -> Result<Vec<Arc<dyn DeviceDriver>>, DriverError> {
    let each = devices.enumerate();
    each.map(|(index, device)| {
        let has_memory = devices.memory_bytes(index) > 0;
        open_one(networks, costs, priority, index, device, has_memory)
    })
    .collect()
}

fn open_one(
    networks: &ServedNetworks,
    costs: &Arc<Costs>,
    priority: Option<ThreadPriority>,
    index: DeviceIndex,
    device: &Device,
    has_memory: bool,
) -> Result<Arc<dyn DeviceDriver>, DriverError> {
    let name = &device.name;
    Ok(match &device.kind {
        DeviceKind::Cpu { cores } => Arc::new(PartitionDriver::new(
            index, name, cores, priority, networks,
        )?),
        // A GPU without memory counts as lost, as in searches, so it gets no workers.
        DeviceKind::Gpu { .. } if !has_memory => Arc::new(AbsentDriver { device: index }),
        DeviceKind::Gpu { info } => {
            let slot = GpuSlot::open(index, name, info, networks);
            Arc::new(slot.map_err(|reason| DriverError::Device {
                device: name.clone(),
                reason: Box::new(reason),
            })?)
        }
        DeviceKind::Simulated { .. } => {
            let discipline = Discipline::for_kind(&device.kind);
            let members = networks.ensemble.members.iter();
            let widths = members.map(|member| member.row_width()).collect();
            Arc::new(SimulatedDriver::new(index, name, discipline, costs, widths))
        }
    })
}

/// Represents a GPU without available memory. It gets no workers, so it has nothing to do.
struct AbsentDriver {
    device: DeviceIndex,
}

impl DeviceDriver for AbsentDriver {
    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities {
            discipline: Discipline::GPU,
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
