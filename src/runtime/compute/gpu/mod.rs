//! Networks on GPUs: the precision they run in, and what serving asks of a lowered one.

mod emulated;
mod footprint;
mod layout;
mod lower;
mod plan;
mod precision;
mod program;
mod weights;

pub use emulated::Emulated;
pub(in crate::compute) use footprint::GpuMemory;
#[cfg(feature = "cuda")]
pub(in crate::compute) use layout::LaneLayout;
pub use lower::lower;
#[cfg(feature = "cuda")]
pub(in crate::compute) use plan::{GpuOp, GpuPlan, GpuStep};
pub use precision::Precision;
pub use program::{LaneProgram, Program};
#[cfg(feature = "cuda")]
pub(in crate::compute) use weights::{StepArrays, WeightLayout};
