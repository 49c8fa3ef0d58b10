//! Networks on GPUs: their plan, their layout in memory, and the interface for serving.

mod emulated;
mod layout;
mod lower;
mod plan;
mod program;

pub use emulated::Emulated;
#[cfg(feature = "cuda")]
pub(in crate::compute) use layout::StepArrays;
pub(in crate::compute) use layout::{LaneLayout, WeightLayout};
pub use lower::lower;
pub(in crate::compute) use plan::GpuPlan;
#[cfg(feature = "cuda")]
pub(in crate::compute) use plan::{GpuOp, GpuStep};
pub use program::{LaneProgram, Precision, PrecisionError, Program};
