//! The [`DeviceDriver`] of a GPU.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::batch::WorkerId;
use crate::serving::scheduler::{Discipline, WorkerSpec};
use divisi_runtime::device::gpu::PinnedBlock;

use super::super::super::factory::BuildError;
use super::super::super::promise::caught;
use super::super::driver::{
    DeviceCapabilities, DeviceDriver, DeviceFault, DeviceVitals, DriverHost, LossCause, LossReason,
    NoSuchFault,
};
use super::super::thread::BoundedThread;
use super::dispatch::serve;
use super::serving::{ServingGpu, loss_in_build};
use super::slot::GpuSlot;

impl GpuSlot {
    /// Returns the GPU with its host, or `None` if it is lost.
    fn serving(self: &Arc<Self>, host: &Arc<dyn DriverHost>) -> Option<ServingGpu> {
        Some(ServingGpu {
            context: self.context()?,
            slot: Arc::clone(self),
            host: Arc::clone(host),
        })
    }
}

impl DeviceDriver for GpuSlot {
    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities {
            discipline: Discipline::GPU,
            keeps_samples: true,
            computes: true,
            may_fail: true,
            faults_on_demand: false,
        }
    }

    fn start(self: Arc<Self>, host: &Arc<dyn DriverHost>) -> io::Result<()> {
        let (slot, host) = (Arc::clone(&self), Arc::clone(host));
        let thread = BoundedThread::start(self.name.clone(), move || serve(&slot, &host))?;
        // The door is still closed, so nothing wakes the thread before it is attached.
        self.waker.attach(thread.thread());
        self.watch_over(vec![thread]);
        Ok(())
    }

    fn wake(&self) {
        self.waker.wake();
    }

    fn build(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        spec: WorkerSpec,
    ) -> Result<(), BuildError> {
        let gpu = self.serving(host).ok_or(BuildError::Gone)?;
        let worker = caught(|| gpu.make_worker(spec))?.inspect_err(|error| {
            if let Some(lost) = loss_in_build(error) {
                gpu.lose(lost);
            }
        })?;
        match gpu.context.keep(worker) {
            true => Ok(()),
            false => Err(BuildError::Gone),
        }
    }

    fn remove(&self, worker: WorkerId) {
        self.forget(worker);
    }

    fn inject(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        fault: DeviceFault,
    ) -> Result<(), NoSuchFault> {
        match (fault, self.serving(host)) {
            (DeviceFault::Slowed(_), _) => return Err(NoSuchFault),
            (DeviceFault::Lost, Some(gpu)) => gpu.take_away(),
            (DeviceFault::Lost, None) => {
                host.lost(self.device, LossCause::TakenAway(None), &mut || {});
            }
        }
        Ok(())
    }

    fn reopen(&self) -> Result<(), BuildError> {
        self.open_again()?;
        self.waker.wake();
        Ok(())
    }

    fn loss(&self) -> Option<LossReason> {
        self.reason().map(LossReason::Gpu)
    }

    fn vitals(&self) -> Option<DeviceVitals> {
        let gpu = Arc::clone(&self.context()?.gpu);
        Some(DeviceVitals {
            gauges: gpu.gauges(),
            memory: gpu.usage().ok(),
        })
    }

    fn pinned(&self, floats: usize) -> Option<PinnedBlock> {
        self.context()?.gpu.pinned(floats).ok()
    }

    fn sweep(&self, host: &dyn DriverHost) {
        let Some(context) = self.context() else {
            return;
        };
        let mut freed = Vec::new();
        host.departed(self.device, &mut |departed| {
            freed = context.samples.lock().let_go(departed);
        });
        // Dropped without the core's lock.
        drop(freed);
    }

    fn stop(&self, limit: Duration) {
        self.leave(limit);
    }
}
