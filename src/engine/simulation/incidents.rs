//! Faults and other changes in the middle of a run.

use crate::serving::{Batch, Verdict};
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::DeviceIndex;

use super::arriving::ArrivingRequests;
use super::run::{Simulation, add_worker};

/// An incident in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incident {
    /// A device disappears.
    Lose(DeviceIndex),
    /// A device returns, with the workers that the matrix has there.
    Regain(DeviceIndex),
    /// The next batch that ends on a device panics: its requests fail, and its worker is
    /// built again at once unless it panics too often.
    Panic(DeviceIndex),
    /// Operations on a device take this many times as long from now on.
    Slow(DeviceIndex, f64),
    /// The policy changes.
    Policy(PolicyKind),
}

impl Simulation {
    /// Handles the incidents whose time has come.
    pub(super) fn inject(&mut self) {
        while let Some(&(at, incident)) = self.incidents.first() {
            if at > self.now {
                break;
            }
            self.incidents.remove(0);
            match incident {
                Incident::Lose(device) => {
                    self.core.lose_device(device);
                    self.devices[device].clear();
                }
                Incident::Regain(device) => self.regain(device),
                Incident::Panic(device) => self.panics.push(device),
                Incident::Slow(device, factor) => self.devices[device].set_slowdown(factor),
                Incident::Policy(policy) => self.core.set_policy(self.now, policy),
            }
        }
    }

    /// Starts the workers of the matrix that a device lacks.
    fn regain(&mut self, device: DeviceIndex) {
        self.core.regain_device(device);
        for &(cell, size) in self.workers.iter().filter(|(c, _)| c.device == device) {
            let mut staying = self.core.staying();
            let there = staying.any(|w| (w.device, w.member) == (cell.device, cell.member));
            drop(staying);
            if !there {
                add_worker(&mut self.core, self.now, cell, size);
            }
        }
    }

    /// Handles a batch that panicked.
    pub(super) fn panicked(&mut self, batch: &Batch<usize>, arriving: &mut ArrivingRequests) {
        self.panics.retain(|device| *device != batch.device);
        let (verdict, owed) = self.core.panicked(self.now, batch);
        owed.pay(|_| {
            arriving.answered();
            self.report.failed += 1;
        });
        if verdict == Verdict::Restart {
            self.core.rebuilt(batch.worker);
        }
    }
}
