//! Devices that tests begin with.

use divisi_runtime::device::gpu::GpuInfo;
use divisi_runtime::device::{Devices, Host};

/// Two partitions, whatever the machine: pinning to a core that is not there fails
/// softly.
pub fn two_devices() -> Devices {
    let host = Host {
        cores: vec![0, 1],
        memory_bytes: 4 << 30,
    };
    Devices::default_of(&host)
}

/// A GPU that is made up, with so much memory to book.
pub fn h100(index: usize, free_bytes: u64) -> GpuInfo {
    GpuInfo {
        index,
        name: "NVIDIA H100 80GB HBM3".into(),
        memory_bytes: 80 << 30,
        free_bytes,
        capability: (9, 0),
        multiprocessors: 132,
        driver: (13, 0),
    }
}
