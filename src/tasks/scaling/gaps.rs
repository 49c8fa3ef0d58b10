//! The device time that queries leave.

use std::time::Duration;

use divisi_modelless::variants::{VariantCatalog, VariantIndex};

use crate::routing::StreamInterval;
use crate::served::FULL_BATCH;

/// The device time that queries left in the last second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceGaps {
    /// The mean share of device time that queries used.
    pub utilisation: f64,
    /// Whether a variant suffers interference.
    pub interfered: bool,
    /// The time for which a query may wait and still be answered in time, or `None` without
    /// queries.
    pub spare: Option<Duration>,
    /// The number of batches that may run in parallel. If there are queries and several devices,
    /// one device is left to queries.
    pub lanes: usize,
}

impl DeviceGaps {
    /// Creates the gaps of devices without queries.
    pub(super) fn idle(devices: usize) -> Self {
        DeviceGaps {
            utilisation: 0.0,
            interfered: false,
            spare: None,
            lanes: devices.max(1),
        }
    }

    /// Returns the gaps of `devices` devices on which queries used `busy` seconds per second.
    pub(super) fn from_load(
        catalog: &VariantCatalog,
        running: &[VariantIndex],
        streams: &[StreamInterval],
        busy: f64,
        devices: usize,
    ) -> Self {
        let asked = streams.iter().filter(|s| s.demand.rate.get() > 0.0);
        let spare = asked.map(|stream| spare(catalog, running, stream)).min();
        let lanes = match spare {
            Some(_) => devices.saturating_sub(1),
            None => devices,
        };
        DeviceGaps {
            utilisation: busy / devices.max(1) as f64,
            spare,
            lanes: lanes.max(1),
            ..DeviceGaps::idle(devices)
        }
    }
}

/// Returns how long the queries of a stream may wait before the batch of the running variant that
/// meets their goals soonest. Without a latency goal, they may wait for the time of a full batch.
fn spare(catalog: &VariantCatalog, running: &[VariantIndex], stream: &StreamInterval) -> Duration {
    let Some(goal) = stream.demand.goals.latency else {
        return FULL_BATCH;
    };
    let of_task = |at: &&VariantIndex| catalog.task_of(**at) == stream.demand.task;
    let own = running.iter().filter(of_task);
    let suiting = own.map(|at| catalog.variant(*at));
    let suiting = suiting.filter(|variant| stream.demand.suits(variant));
    let left = suiting.map(|variant| goal.get().saturating_sub(variant.p99()));
    left.max().unwrap_or(Duration::ZERO)
}
