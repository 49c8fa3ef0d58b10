//! Devices that disappear and come back.

use std::num::NonZeroU32;

use crate::serving::batch::{BatchId, Range};

use super::Core;

impl<T: Clone> Core<T> {
    /// A device is gone with everything on it. Batches it was running go back to
    /// their queues, since nothing of them was answered: no request is lost by it.
    pub fn lose_device(&mut self, device: usize) {
        let here = self.running.iter().filter(|(_, r)| r.device == device);
        let (folding, mut lost): (Vec<BatchId>, Vec<BatchId>) = here
            .map(|(id, _)| *id)
            .partition(|id| self.running[id].folding);
        lost.sort_unstable();
        let mut again: Vec<(usize, Range)> = Vec::new();
        for id in lost {
            let Some(running) = self.running.remove(&id) else {
                continue;
            };
            for range in running.ranges {
                match self.requests.get(&range.request) {
                    Some(entry) if !entry.failed => again.push((running.member, range)),
                    // Given up meanwhile: nobody waits for it.
                    _ => drop(self.settle(&range)),
                }
            }
        }
        for spec in self.scheduler.lose(device, again, folding.len()) {
            self.tallies.remove(&spec.id);
        }
        self.asleep[device] = None;
    }

    /// A device is there again; it has no workers yet.
    pub fn regain_device(&mut self, device: usize) {
        self.scheduler.regain(device);
    }

    /// Whether a device is gone.
    pub fn is_lost(&self, device: usize) -> bool {
        self.scheduler.is_lost(device)
    }

    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    pub fn set_max_inf(&mut self, device: usize, most: Option<NonZeroU32>) {
        self.scheduler.set_max_inf(device, most);
    }
}
