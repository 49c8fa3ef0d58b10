//! What befalls devices in the middle of a run.

use crate::serving::{Batch, Verdict};

use super::Incident;
use super::arriving::Arriving;
use super::run::{Simulation, add_worker};

impl Simulation {
    /// Incidents whose time has come.
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

    /// Workers of the matrix that are not there start.
    fn regain(&mut self, device: usize) {
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

    /// A batch panicked.
    pub(super) fn panicked(&mut self, batch: &Batch<()>, arriving: &mut Arriving) {
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
