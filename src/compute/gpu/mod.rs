//! Networks on GPUs: the precision they run in, and what serving asks of a lowered one.

mod precision;
mod program;

pub use precision::Precision;
pub use program::{LaneProgram, Program, lane_limit};
