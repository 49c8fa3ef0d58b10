//! The time that queries leave of devices.

use std::time::Duration;

use divisi_modelless::variants::{VariantCatalog, VariantIndex};

use crate::routing::StreamInterval;
use crate::served::FULL_BATCH;

/// The time that queries leave of devices, as of the last second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceGaps {
    /// The mean part of the devices' time that queries took.
    pub utilisation: f64,
    /// Whether a variant is interfered with.
    pub interfered: bool,
    /// How long a query may wait behind something else and still be answered in time, or `None` where
    /// nobody asks.
    pub spare: Option<Duration>,
    /// How many batches may run side by side: one device is left to queries, where somebody asks and
    /// there are several.
    pub lanes: usize,
}

impl DeviceGaps {
    /// Devices that nobody asks.
    pub(super) fn idle(devices: usize) -> Self {
        DeviceGaps {
            utilisation: 0.0,
            interfered: false,
            spare: None,
            lanes: devices.max(1),
        }
    }

    /// Works out what the queries of the last second leave of `devices` devices, of which they took
    /// `busy` seconds a second.
    pub(super) fn of(
        catalog: &VariantCatalog,
        running: &[VariantIndex],
        streams: &[StreamInterval],
        (busy, devices): (f64, usize),
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

/// Returns how long the queries of a stream may wait before the batch of the running variant that meets
/// their goals soonest. Without a latency goal they may wait as long as a full batch takes.
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
