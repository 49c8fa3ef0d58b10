//! The work that waits for devices.

use std::time::Duration;

use divisi::device::DeviceIndex;

use crate::served::QueryUrgency;

/// The work of queries that are not answered yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    timed: DeviceSeconds,
    untimed: DeviceSeconds,
}

impl Backlog {
    /// Adds work to devices, each of which does a part of it; takes it off where it is negative.
    pub(super) fn add(
        &mut self,
        devices: &[(DeviceIndex, f64)],
        seconds: f64,
        urgency: QueryUrgency,
    ) {
        match urgency {
            QueryUrgency::Timed => self.timed.add(devices, seconds),
            QueryUrgency::Untimed => self.untimed.add(devices, seconds),
        }
    }

    /// Returns the time until devices have done what goes before a query, each weighed by its part of the
    /// work: the engine hands work to whichever device is free.
    pub(super) fn wait(&self, devices: &[(DeviceIndex, f64)], urgency: QueryUrgency) -> Duration {
        let timed = self.timed.of(devices);
        let seconds = match urgency {
            QueryUrgency::Timed => timed,
            QueryUrgency::Untimed => timed + self.untimed.of(devices),
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Seconds of each device.
#[derive(Clone, Debug, Default)]
struct DeviceSeconds(Vec<f64>);

impl DeviceSeconds {
    fn add(&mut self, devices: &[(DeviceIndex, f64)], seconds: f64) {
        for (device, part) in devices {
            let at = device.get();
            if self.0.len() <= at {
                self.0.resize(at + 1, 0.0);
            }
            // What is left of sums that should be 0 is no work.
            let left = self.0[at] + part * seconds;
            self.0[at] = if left < 1e-9 { 0.0 } else { left };
        }
    }

    fn of(&self, devices: &[(DeviceIndex, f64)]) -> f64 {
        let seconds = |device: &DeviceIndex| self.0.get(device.get()).copied();
        let parts = devices.iter();
        let parts = parts.map(|(device, part)| part * seconds(device).unwrap_or_default());
        parts.sum()
    }
}
