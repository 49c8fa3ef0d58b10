//! The default load of an ensemble.

use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::Devices;

use super::pattern::{LoadPattern, Rate};

/// Samples per second if the devices can serve them.
const MOST: f64 = 200.0;

/// Floating-point operations per second of a core, as reached by many networks.
const FLOPS_OF_CORE: f64 = 40e9;

/// Returns samples at random moments, 200 per second. If all devices are cores and half of their
/// throughput is less, returns that half, rounded down to 1, 2 or 5 times a power of ten.
pub fn usual_load(ensemble: &Ensemble, devices: &Devices) -> LoadPattern {
    let cores = devices.iter().filter(|device| device.kind.is_of_host());
    let (all, cores) = (devices.count(), cores.map(|device| device.kind.threads()));
    let counted: Vec<usize> = cores.collect();
    let flops: u64 = ensemble.members.iter().map(|m| m.graph.flops()).sum();
    let served = match counted.len() == all {
        true => counted.iter().sum::<usize>() as f64 * FLOPS_OF_CORE / flops.max(1) as f64,
        false => f64::INFINITY,
    };
    let rate = rounded(served / 2.0).min(MOST);
    LoadPattern::Poisson {
        rate: Rate::nearest(rate),
    }
}

/// Returns the largest of 1, 2 and 5 times a power of ten up to `rate`, at most [`MOST`].
fn rounded(rate: f64) -> f64 {
    if rate >= MOST {
        return MOST;
    }
    let power = 10f64.powf(rate.log10().floor());
    let steps = [5.0, 2.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step <= rate)
        .unwrap_or(power)
}
