//! Networks on GPUs: their plan, their layout in memory, and the interface for serving.
//!
//! A [`GpuPlan`] has one step for each launch of a kernel. `tests/support/emulated` runs it in host
//! memory, which defines the results of the kernels.

mod axes;
mod exact;
mod functions;
mod layout;
mod lower;
mod moves;
mod plan;
mod program;
mod steps;
mod tensors;

pub use super::buffers::{TensorView, ValuePlace};
pub use super::fuse::{MaskedRows, Pairing};
pub use super::tensors::{ShareGuard, Strided};
pub use axes::Axes;
pub use functions::MapFunction;
#[cfg(feature = "cuda")]
pub(in crate::compute) use functions::reduction_code;
pub(in crate::compute) use layout::LaneLayout;
pub use layout::{StepArrays, WeightLayout};
pub use lower::lower;
pub use plan::{GpuOp, GpuPlan, GpuStep, check};
pub use program::{LaneProgram, Precision, Program};
#[cfg(feature = "cuda")]
pub(in crate::compute) use tensors::MOST_MASKS;
pub use tensors::{AttentionWork, LookupWork, OperandSource, ScanWork, TensorOperand, TensorWork};
