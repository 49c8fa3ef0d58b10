//! A simulated device in real time: the executor of virtual time, with events at their real times.
//!
//! It sleeps until the next event that affects others (`foresee`), not until every operation.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::serving::batch::WorkerId;
use crate::serving::core::{Next, Stamps, transfer_span};
use crate::serving::scheduler::{Discipline, WorkerSpec};
use crate::serving::simulated::{DeviceEvent, SimulatedDevice};
use divisi_model::ensemble::OutputKind;
use divisi_model::profile::Costs;
use divisi_runtime::compute::constant_row;
use divisi_runtime::device::DeviceIndex;

use super::super::factory::BuildError;
use super::super::locks::Leaf;
use super::super::request::{BatchOutput, LiveBatch, Payload};
use super::driver::{
    DeviceCapabilities, DeviceDriver, DeviceFault, DriverHost, LossCause, NoSuchFault,
};
use super::thread::DriverThread;

/// Drives a simulated device.
pub(super) struct SimulatedDriver {
    device: DeviceIndex,
    name: String,
    discipline: Discipline,
    /// The width of each member's rows.
    widths: Vec<usize>,
    costs: Arc<Costs>,
    /// Faults that its thread has not handled yet.
    faults: Leaf<Vec<DeviceFault>>,
    thread: DriverThread,
}

impl SimulatedDriver {
    /// Creates a driver of `device` with `costs`. Members' rows have `widths` values.
    pub(super) fn new(
        device: DeviceIndex,
        name: &str,
        discipline: Discipline,
        costs: &Arc<Costs>,
        widths: Vec<usize>,
    ) -> Self {
        SimulatedDriver {
            device,
            name: name.to_owned(),
            discipline,
            widths,
            costs: Arc::clone(costs),
            faults: Leaf::default(),
            thread: DriverThread::default(),
        }
    }

    fn serve(&self, host: &dyn DriverHost) {
        let mut device = SimulatedDevice::new(self.device, Arc::clone(&self.costs));
        while !host.is_stopping() {
            let faults = std::mem::take(&mut *self.faults.lock());
            for fault in faults {
                match fault {
                    DeviceFault::Lost => device.clear(),
                    DeviceFault::Slowed(factor) => device.set_slowdown(factor),
                }
            }
            for (at, event) in device.advance(host.now()) {
                self.note(host, at, event);
            }
            let until = self.feed(host, &mut device);
            let next = until.into_iter().chain(device.foresee()).min();
            self.thread.sleep(host, next);
        }
    }

    /// Starts all work with room. Returns the time of the next check if nothing happens.
    fn feed(
        &self,
        host: &dyn DriverHost,
        device: &mut SimulatedDevice<Payload>,
    ) -> Option<Duration> {
        loop {
            let now = host.now();
            if !self.faults.lock().is_empty() {
                // Starts nothing that the fault would then cancel.
                return Some(now);
            }
            match host.next(self.device) {
                Next::Run(batch) => device.start(now, batch),
                Next::Copy(transfers) => {
                    for transfer in transfers {
                        device.copy(now, transfer);
                    }
                }
                Next::Sleep(until) => return until,
            }
        }
    }

    fn note(&self, host: &dyn DriverHost, at: Duration, event: DeviceEvent<Payload>) {
        match event {
            DeviceEvent::Copied(transfer, asked) => {
                let span = transfer_span(&transfer, asked, at);
                host.copied(self.device, transfer.part, at, Some(span));
            }
            DeviceEvent::Done(batch, stamps) => self.answer(host, &batch, &stamps),
        }
    }

    /// Answers with the member's constant. The answers of a simulated device are meaningless, but
    /// are handled like any others.
    fn answer(&self, host: &dyn DriverHost, batch: &LiveBatch, stamps: &Stamps) {
        if !host.begin_folding(batch) {
            return;
        }
        let width = self.widths[batch.member.get()];
        let rows = constant_row(batch.member, width).repeat(batch.samples);
        let output = BatchOutput {
            rows: &rows,
            width,
            outputs: OutputKind::Values,
        };
        if let Err(why) = output.fold(batch) {
            return host.not_folded(batch, &why);
        }
        let completed = host.finish(batch, stamps, host.now());
        host.answer(batch, stamps, completed);
    }

    fn pretend(&self, fault: DeviceFault) {
        self.faults.lock().push(fault);
        self.thread.wake();
    }
}

impl DeviceDriver for SimulatedDriver {
    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities {
            discipline: self.discipline,
            keeps_samples: false,
            computes: false,
            may_fail: false,
            faults_on_demand: true,
        }
    }

    fn start(self: Arc<Self>, host: &Arc<dyn DriverHost>) -> io::Result<()> {
        let (driver, host) = (Arc::clone(&self), Arc::clone(host));
        self.thread
            .start(&self.name, move || driver.serve(host.as_ref()))
    }

    fn wake(&self) {
        self.thread.wake();
    }

    /// Needs no weights and no arena, because it computes nothing.
    fn build(
        self: Arc<Self>,
        _host: &Arc<dyn DriverHost>,
        _spec: WorkerSpec,
    ) -> Result<(), BuildError> {
        Ok(())
    }

    fn remove(&self, _worker: WorkerId) {}

    fn inject(
        self: Arc<Self>,
        host: &Arc<dyn DriverHost>,
        fault: DeviceFault,
    ) -> Result<(), NoSuchFault> {
        match fault {
            DeviceFault::Lost => host.lost(self.device, LossCause::TakenAway(None), &mut || {
                self.pretend(fault);
            }),
            DeviceFault::Slowed(_) => self.pretend(fault),
        }
        Ok(())
    }

    fn stop(&self, _limit: Duration) {
        self.thread.join();
    }
}
