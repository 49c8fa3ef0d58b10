//! The load of each device over the last minute, as this console saw it.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_runtime::device::DeviceIndex;
use divisi_session::Snapshot;

/// The time between two kept values.
const APART: Duration = Duration::from_secs(1);
/// The number of kept values: one minute.
pub(crate) const KEPT: usize = 60;

/// The last values of every device, one a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadTrends {
    /// The time of the newest values.
    at: Duration,
    generation: u64,
    devices: Vec<VecDeque<f32>>,
}

impl LoadTrends {
    /// Keeps the loads of a snapshot if a second has passed. Another engine and an earlier time, as
    /// in a recording played backward, begin again.
    pub(crate) fn follow(&mut self, shown: &Snapshot) {
        let other =
            self.generation != shown.generation || self.devices.len() != shown.devices.len();
        if other || shown.now < self.at {
            self.generation = shown.generation;
            self.devices = vec![VecDeque::with_capacity(KEPT); shown.devices.len()];
        } else if shown.now < self.at + APART {
            return;
        }
        self.at = shown.now;
        for (kept, device) in self.devices.iter_mut().zip(&shown.devices) {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(device.busy as f32);
        }
    }

    /// Returns the busy shares of a device, oldest first.
    pub(crate) fn busy(&self, device: DeviceIndex) -> Vec<f32> {
        let kept = self.devices.get(device.get());
        kept.map_or(Vec::new(), |kept| kept.iter().copied().collect())
    }
}
