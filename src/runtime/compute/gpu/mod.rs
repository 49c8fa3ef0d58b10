//! Networks on GPUs: the precision they run in, and what serving asks of a lowered one.

mod emulated;
mod layout;
mod lower;
mod plan;
mod precision;
mod program;
mod weights;

pub use emulated::Emulated;
pub(in crate::compute) use layout::LaneLayout;
pub use lower::lower;
pub(in crate::compute) use plan::GpuPlan;
#[cfg(feature = "cuda")]
pub(in crate::compute) use plan::{GpuOp, GpuStep};
pub use precision::Precision;
pub use program::{LaneProgram, Program};
#[cfg(feature = "cuda")]
pub(in crate::compute) use weights::StepArrays;
pub(in crate::compute) use weights::WeightLayout;
