//! How a GPU is doing, by the management library.

use crate::device::gpu::Gauges;

/// Nothing is asked yet.
pub fn gauges(_bus_id: &str) -> Gauges {
    Gauges::default()
}
