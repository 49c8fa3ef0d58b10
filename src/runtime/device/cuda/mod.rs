//! NVIDIA GPUs over the CUDA driver (feature `cuda`).
//!
//! Each GPU has one context: its primary one, which Candle uses too. This module and
//! `compute::cuda` alone control access to memory and streams:
//!
//! - The bindings' own tracking of reads and writes is off. It does not see reads through tables of
//!   addresses, costs two events for each allocation, and is not allowed during a capture. Only
//!   events order streams (`Stream::record`, `Stream::wait`).
//! - Memory comes from the device's default pool, which never returns it between uses and never
//!   makes one stream wait for another. Page-locked memory is not write-combined, because
//!   processors read it too.
//! - `upload` waits until weights are copied, so no reader sees partial weights. Memory is freed
//!   when its last holder drops it. Lanes hold the network and wait for their stream first; streams
//!   hold both ends of every copy until a later event has happened.
//! - Driver errors that make a context useless are `GpuError::Lost`, whichever call returns them.
//!   cuDNN and cuBLASLt have no such errors, so a failed lane checks its stream.
//! - A GPU stays open for the lifetime of the process. A lost GPU is opened again only after all
//!   handles of its old context are dropped.

mod clock;
mod discovery;
mod error;
mod gpu;
mod memory;
mod nvml;
mod stream;

pub use gpu::{CudaGpu, find, open, opened};
pub use stream::GpuStream;

pub(crate) use error::gpu_error;
