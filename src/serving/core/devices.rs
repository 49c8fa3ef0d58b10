//! Devices that disappear and come back.

use std::num::NonZeroU32;

use crate::serving::batch::{BatchId, Range};
use crate::serving::scheduler::Left;

use super::Core;
use super::rest::DeviceRest;

impl<T: Clone> Core<T> {
    /// A device is gone with everything on it. Batches it was running go back to
    /// their queues, since nothing of them was answered: no request is lost by it.
    pub fn lose_device(&mut self, device: usize) {
        let left = self.leave_folding(device);
        let here = self.running.iter();
        let here = here.filter(|(_, r)| r.device == device && !r.folding);
        let mut lost: Vec<BatchId> = here.map(|(id, _)| *id).collect();
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
                    _ => self.discard(&range),
                }
            }
        }
        for spec in self.scheduler.lose(device, again, left) {
            self.tallies.remove(&spec.id);
        }
        self.rest[device] = DeviceRest::Awake;
    }

    /// Batches of a device that are being folded end still, though it is gone.
    fn leave_folding(&mut self, device: usize) -> Left {
        let mut left = Left::default();
        let here = self.running.values_mut();
        for running in here.filter(|r| r.device == device && r.folding) {
            running.lost = true;
            left.batches += 1;
            left.samples += running.ranges.iter().map(|r| r.len).sum::<usize>();
        }
        left
    }

    /// A device is there again; it has no workers yet.
    pub fn regain_device(&mut self, device: usize) {
        self.scheduler.regain(device);
    }

    /// Whether a device is gone.
    pub fn is_lost(&self, device: usize) -> bool {
        self.scheduler.is_lost(device)
    }

    /// Returns the bound that was set for a device by [`Core::set_max_inf`].
    pub fn max_inf(&self, device: usize) -> Option<NonZeroU32> {
        self.scheduler.max_inf(device)
    }

    /// At most so many samples alive on a device under `elastic`; none: the policy's.
    pub fn set_max_inf(&mut self, device: usize, most: Option<NonZeroU32>) {
        self.scheduler.set_max_inf(device, most);
    }
}
