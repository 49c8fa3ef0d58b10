//! A network on a device: lowered once, then run for any batch up to its largest.
//!
//! [`Lowered`] holds what workers of one member share (fused steps and folded
//! weights); a [`Predictor`] holds what one worker needs for itself (the arena).

mod arena;
mod chunks;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver's interface")]
pub mod cuda;
mod error;
mod fake;
mod family;
mod fold;
mod footprint;
mod fuse;
pub mod gpu;
mod homes;
#[allow(unsafe_code, reason = "vectors, and threads that share one memory")]
mod kernels;
mod layout;
mod lowered;
mod op;
mod plan;
mod predictor;
pub mod reference;
mod resize;
mod rows;
mod softmax;
mod team;
mod view;
mod work;

pub use error::ComputeError;
pub use fake::{FakePredictor, constant_row};
pub use family::{Family, KERNELS_VARIABLE, UnusableKernels, kernels_in_use};
pub use footprint::{Footprint, FootprintModel, footprint};
pub use lowered::Lowered;
pub use op::NetworkOp;
pub use predictor::{CpuPredictor, Predictor};
pub use resize::resize_planes;
pub use rows::{host_rows, read_rows, write_rows};
pub use softmax::softmax_row;
pub use work::work;
