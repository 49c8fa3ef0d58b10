//! Runs networks on devices: lowered once, then run for batches of up to a largest size.
//!
//! A [`Lowered`] network holds the fused steps and folded weights that the workers of one
//! member share. A [`Predictor`] holds the arena that each worker needs for itself.

mod buffers;
mod costs;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod error;
mod family;
mod fold;
mod fuse;
pub mod gpu;
#[allow(unsafe_code, reason = "vectors, and threads that share one memory")]
mod kernels;
mod lowered;
mod plan;
mod predictor;
pub mod reference;
mod team;

pub use costs::{Footprint, FootprintModel, footprint, work};
pub use error::ComputeError;
pub use family::{Family, KERNELS_VARIABLE, UnusableKernels, kernels_in_use};
pub use kernels::{resize_planes, softmax_row};
pub use lowered::Lowered;
pub use predictor::{
    CpuPredictor, FakePredictor, NetworkOp, Predictor, constant_row, host_rows, read_rows,
    write_rows,
};
