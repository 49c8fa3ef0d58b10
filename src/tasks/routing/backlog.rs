//! The work that waits for devices.

use std::time::Duration;

use divisi::device::DeviceIndex;

/// The work of queries that are not answered yet, in seconds of each device.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    seconds: Vec<f64>,
}

impl Backlog {
    /// Adds work to devices, each of which does a part of it; takes it off where it is negative.
    pub(super) fn add(&mut self, devices: &[(DeviceIndex, f64)], seconds: f64) {
        for (device, part) in devices {
            let at = device.get();
            if self.seconds.len() <= at {
                self.seconds.resize(at + 1, 0.0);
            }
            // What is left of sums that should be 0 is no work.
            let left = self.seconds[at] + part * seconds;
            self.seconds[at] = if left < 1e-9 { 0.0 } else { left };
        }
    }

    /// Returns the time until devices have done what waits for them, each weighed by its part of the
    /// work: the engine hands work to whichever device is free.
    pub(super) fn wait(&self, devices: &[(DeviceIndex, f64)]) -> Duration {
        let seconds = |device: &DeviceIndex| self.seconds.get(device.get()).copied();
        let parts = devices.iter();
        let parts = parts.map(|(device, part)| part * seconds(device).unwrap_or_default());
        Duration::try_from_secs_f64(parts.sum()).unwrap_or(Duration::MAX)
    }
}
