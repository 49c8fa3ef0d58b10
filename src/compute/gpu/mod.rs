//! Networks on GPUs: the precision they run in, and what serving asks of a lowered one.

mod footprint;
mod layout;
mod plan;
mod precision;
mod program;
mod weights;

pub(crate) use footprint::GpuMemory;
pub use precision::Precision;
pub use program::{LaneProgram, Program, lane_limit};
