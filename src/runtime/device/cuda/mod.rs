//! NVIDIA GPUs over the CUDA driver (feature `cuda`).
//!
//! One context for each GPU: the primary one, which Candle would use too. Who may use what when is
//! decided here and in `compute::cuda` alone:
//!
//! - The bindings' own tracking of reads and writes is off. It does not see what kernels reach
//!   through tables, costs two events for each allocation, and may not happen in a capture. All
//!   order between streams is by events (`Stream::record`, `Stream::wait`).
//! - Memory comes from the device's default pool, which never returns it between uses and never
//!   makes one stream wait for another. Page-locked memory is not write-combined, since
//!   processors read it too.
//! - Weights are copied before anybody can read them (`upload` waits), and memory is freed when
//!   its last holder drops it. Lanes hold the network and wait for their stream first; streams
//!   hold both ends of every copy until an event behind it has happened.
//! - Errors of the driver that make a context useless are `GpuError::Lost`, whichever call they
//!   surface in. cuDNN and cuBLASLt have no such errors, so a lane that fails asks its stream.
//! - A GPU stays open for the process. One that was lost is opened anew only once nobody holds
//!   anything of its old context.

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
