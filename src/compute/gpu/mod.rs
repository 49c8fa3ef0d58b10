//! Networks on GPUs: the precision they run in, and what serving asks of a lowered one.

mod footprint;
mod layout;
mod plan;
mod precision;
mod program;
mod weights;

pub(in crate::compute) use footprint::GpuMemory;
pub(in crate::compute) use layout::LaneLayout;
pub(in crate::compute) use plan::{GpuOp, GpuPlan, GpuStep};
pub use precision::Precision;
pub use program::{LaneProgram, Program, lane_limit};
pub(in crate::compute) use weights::{StepArrays, WeightLayout};
