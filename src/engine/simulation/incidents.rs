//! Faults and other changes during a run.

use crate::serving::{Batch, Verdict};
use divisi_model::ensemble::PolicyKind;
use divisi_runtime::device::DeviceIndex;

use super::arriving::ArrivingRequests;
use super::run::{Simulation, add_worker};

/// An incident during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incident {
    /// A device disappears.
    Lose(DeviceIndex),
    /// A device returns, with its workers in the matrix.
    Regain(DeviceIndex),
    /// The next batch that ends on a device panics. Its requests fail, and its worker is rebuilt at
    /// once unless it panics too often.
    Panic(DeviceIndex),
    /// Later operations on a device are slower by this factor.
    Slow(DeviceIndex, f64),
    /// The policy changes.
    Policy(PolicyKind),
}

impl Simulation {
    /// Handles the incidents that are due.
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

    /// Starts the workers of the matrix that are missing on a device.
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

    /// Handles a panic of a batch.
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
