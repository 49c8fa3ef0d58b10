//! How GPUs are doing, asked for no more often than somebody can read it.

use std::time::Duration;

use crate::device::gpu::{Gauges, Usage};
use crate::serving::Engine;

/// A reading is shown for so long.
const KEPT: Duration = Duration::from_millis(500);

type Read = Option<(Gauges, Option<Usage>)>;

/// The last readings of all devices, and when they were taken.
#[derive(Debug, Default)]
pub(super) struct Readings {
    at: Option<Duration>,
    devices: Vec<Read>,
}

impl Readings {
    /// Asks again where the last answers are old.
    pub(super) fn refresh(&mut self, engine: &Engine, now: Duration) {
        if self.at.is_some_and(|at| now < at + KEPT) {
            return;
        }
        self.at = Some(now);
        let all = 0..engine.devices().count();
        self.devices = all.map(|device| read(engine, device)).collect();
    }

    /// Returns the last reading of a device, or `None` if there is none.
    pub(super) fn of(&self, device: usize) -> Read {
        self.devices.get(device).copied().flatten()
    }
}

fn read(engine: &Engine, device: usize) -> Read {
    let vitals = engine.telemetry().vitals(device)?;
    Some((vitals.gauges, vitals.memory))
}
