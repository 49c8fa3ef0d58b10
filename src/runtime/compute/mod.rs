//! Runs networks on devices: lowered once, then run for batches of up to a largest size.
//!
//! A [`Lowered`] network holds the fused steps and folded weights that the workers of one
//! member share. A [`Predictor`] holds the arena that each worker needs for itself.

mod arena;
mod buffers;
mod chunks;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod error;
mod family;
mod fold;
mod footprint;
mod fuse;
pub mod gpu;
#[allow(unsafe_code, reason = "vectors, and threads that share one memory")]
mod kernels;
mod lowered;
mod plan;
mod predictor;
pub mod reference;
mod rows;
mod team;
mod work;

pub use error::ComputeError;
pub use family::{Family, KERNELS_VARIABLE, UnusableKernels, kernels_in_use};
pub use footprint::{Footprint, FootprintModel, footprint};
pub use kernels::{resize_planes, softmax_row};
pub use lowered::Lowered;
pub use predictor::{CpuPredictor, FakePredictor, NetworkOp, Predictor, constant_row};
pub use rows::{host_rows, read_rows, write_rows};
pub use work::work;
