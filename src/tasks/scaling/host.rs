//! The load of the host by other programs, on the cores of devices.

use divisi_runtime::device::host::{HostLoad, HostWatch};
use divisi_runtime::device::{Computation, Devices};

/// The shares of cores that other programs took in a second; `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OthersSeen {
    /// The share of the busiest core of any device.
    pub(super) most: Option<f64>,
    /// The mean share of each device's cores, or `None` if it has none of its own.
    pub(super) devices: Vec<Option<f64>>,
}

impl OthersSeen {
    /// Returns what `host` saw since its start.
    pub(super) fn since(host: &mut HostWatch, devices: &Devices) -> Self {
        let load = host.restart();
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
