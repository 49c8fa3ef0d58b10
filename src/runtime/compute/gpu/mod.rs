//! Networks on GPUs: their plan, their layout in memory, and the interface for serving.

mod axes;
mod emulated;
mod exact;
mod functions;
mod layout;
mod lower;
mod moves;
mod plan;
mod program;
mod steps;
mod tensors;

#[cfg(feature = "cuda")]
pub(in crate::compute) use axes::Axes;
pub use emulated::Emulated;
#[cfg(feature = "cuda")]
pub(in crate::compute) use functions::{MapFunction, reduction_code};
#[cfg(feature = "cuda")]
pub(in crate::compute) use layout::StepArrays;
pub(in crate::compute) use layout::{LaneLayout, WeightLayout};
pub use lower::lower;
pub(in crate::compute) use plan::GpuPlan;
pub use plan::check;
#[cfg(feature = "cuda")]
pub(in crate::compute) use plan::{GpuOp, GpuStep};
pub use program::{LaneProgram, Precision, Program};
#[cfg(feature = "cuda")]
pub(in crate::compute) use tensors::{
    AttentionWork, LookupWork, MOST_MASKS, OperandSource, ScanWork, TensorOperand, TensorWork,
};
