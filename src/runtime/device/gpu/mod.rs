//! NVIDIA GPUs: their descriptions, their gauges, and the interface to their driver.
//!
//! The engine sees a GPU through [`Gpu`], [`Stream`], [`Event`] and memory. `device::cuda`
//! implements them over the driver (feature `cuda`); tests implement them in software.

mod discovery;
mod driver;
mod error;
mod gauges;
mod info;
mod pinned;

pub use discovery::{find_gpu, find_gpus, open};
pub use driver::{DeviceMemory, DeviceSlice, Event, Gpu, Stream, Usage};
pub use error::GpuError;
pub use gauges::{Gauges, Sampler, others_bytes};
pub use info::{FoundGpus, GpuInfo};
pub use pinned::{HostBuffer, HostSlice, PinnedBlock, PinnedMemory};
