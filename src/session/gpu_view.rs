//! What a console shows of a GPU.

use serde::{Deserialize, Serialize};

use crate::device::gpu::{Gauges, GpuInfo, Usage};

/// The properties of a GPU and its latest readings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuView {
    /// As the driver names it.
    pub model: String,
    /// Compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// Bytes of its memory, all of it; what may be booked is less.
    pub memory_bytes: u64,
    /// As the management library says; nothing where it is not there.
    pub gauges: Gauges,
    /// Bytes that this process allocated there, as the driver counts.
    pub used: Option<u64>,
}

impl GpuView {
    /// A GPU and what was read of it lately.
    pub fn new(info: &GpuInfo, read: Option<(Gauges, Option<Usage>)>) -> Self {
        let (gauges, usage) = read.unwrap_or_default();
        GpuView {
            model: info.name.clone(),
            capability: info.capability,
            memory_bytes: info.memory_bytes,
            gauges,
            used: usage.map(|u| u.used),
        }
    }

    /// Bytes of other processes, where there are any.
    pub fn others(&self) -> Option<u64> {
        self.gauges.others_bytes.filter(|bytes| *bytes > 0)
    }
}
