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

pub use emulated::Emulated;
#[cfg(feature = "cuda")]
pub(in crate::compute) use functions::{MapFunction, reduction_code};
#[cfg(feature = "cuda")]
pub(in crate::compute) use layout::StepArrays;
pub(in crate::compute) use layout::{LaneLayout, WeightLayout};
pub use lower::lower;
pub use plan::check;
pub(in crate::compute) use plan::GpuPlan;
#[cfg(feature = "cuda")]
pub(in crate::compute) use plan::{GpuOp, GpuStep};
#[cfg(feature = "cuda")]
pub(in crate::compute) use axes::Axes;
#[cfg(feature = "cuda")]
pub(in crate::compute) use tensors::{
    AttentionWork, LookupWork, MOST_MASKS, OperandSource, ScanWork, TensorOperand, TensorWork,
};
pub use program::{LaneProgram, Precision, PrecisionError, Program};
