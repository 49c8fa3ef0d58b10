//! NVIDIA GPUs over the CUDA driver (feature `cuda`).

mod clock;
mod discovery;
mod error;
mod gpu;
mod memory;
mod nvml;
mod stream;

pub use discovery::find;
pub use gpu::{CudaGpu, open, opened};
pub use stream::GpuStream;

pub(crate) use error::gpu_error;
