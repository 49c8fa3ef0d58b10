//! What a GPU is, and how it is doing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One GPU as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuInfo {
    /// Its number: `cuda:INDEX`.
    pub index: usize,
    /// As the driver names it.
    pub name: String,
    /// Bytes of its memory, all of it.
    pub memory_bytes: u64,
    /// Bytes that serving may book: what was free when it was found, less a reserve.
    pub free_bytes: u64,
    /// Compute capability, `(major, minor)`.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The CUDA version that the driver speaks, as `(major, minor)`.
    pub driver: (u32, u32),
}

impl GpuInfo {
    /// Whether it is of the same model: what a batch takes there it takes here.
    pub fn is_like(&self, other: &GpuInfo) -> bool {
        let model = |i: &GpuInfo| (i.name.clone(), i.capability, i.multiprocessors);
        model(self) == model(other)
    }
}

/// How a GPU is doing, as far as the management library says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// Share of the last sampling period in which a kernel ran, 0 to 1.
    pub busy: Option<f64>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// Watts.
    pub power: Option<f64>,
    /// Bytes in use, by everybody.
    pub memory_used: Option<u64>,
    /// Bytes that other processes use.
    pub others_bytes: Option<u64>,
}

/// Bytes that processes other than `own` use, of processes with what they use where that
/// is told; a process may be there twice. None where it cannot be known: something is not
/// told, or `own` is not among them, so that nobody knows who is who (as in a container
/// that counts processes differently).
pub fn others_bytes(processes: &[(u32, Option<u64>)], own: u32) -> Option<u64> {
    let mut by_process = BTreeMap::new();
    for (process, bytes) in processes {
        let most = by_process.entry(process).or_insert(0);
        *most = (*bytes)?.max(*most);
    }
    by_process.remove(&own)?;
    Some(by_process.values().sum())
}
