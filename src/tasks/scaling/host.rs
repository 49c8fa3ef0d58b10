//! The load of the host by other programs, on the cores of devices.

use divisi_runtime::device::host::{HostCounters, HostLoad};
use divisi_runtime::device::{Computation, Devices};

/// The counters of the host at the last second.
#[derive(Debug, Default)]
pub(super) struct HostSeconds(Option<HostCounters>);

/// The shares of cores that other programs took in a second; `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OthersSeen {
    /// The share of the busiest core of any device.
    pub(super) most: Option<f64>,
    /// The mean share of each device's cores, or `None` if it has none of its own.
    pub(super) devices: Vec<Option<f64>>,
}

impl HostSeconds {
    /// Returns the load since the last call.
    pub(super) fn second(&mut self, devices: &Devices) -> OthersSeen {
        let now = HostCounters::read();
        let load = match (&self.0, &now) {
            (Some(before), Some(now)) => Some(now.load_since(before)),
            _ => None,
        };
        self.0 = now;
        load.map_or_else(OthersSeen::default, |load| seen(&load, devices))
    }
}

fn seen(load: &HostLoad, devices: &Devices) -> OthersSeen {
    let throttled = load.throttled.unwrap_or(0.0);
    let all = load.cores.iter().map(|core| core.others + core.steal);
    let on_device = |cores: &[usize]| {
        let taken = load.others_on(Some(cores)) + load.steal_on(Some(cores));
        taken.max(throttled)
    };
    let each = devices
        .iter()
        .map(|device| match device.kind.computation() {
            Computation::Kernels(cores) => Some(on_device(cores)),
            Computation::Gpu(_) | Computation::Law(_) => None,
        });
    OthersSeen {
        most: Some(all.fold(throttled, f64::max)),
        devices: each.collect(),
    }
}
