//! The tests of model-less serving's decisions, against their definitions and in virtual time.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod accuracy;
#[allow(dead_code, reason = "shared with the benchmarks")]
#[path = "../../benches/modelless/arrivals.rs"]
mod arrivals;
#[allow(dead_code, reason = "shared with the benchmarks")]
#[path = "../../benches/modelless/baselines/mod.rs"]
mod baselines;
mod choice;
mod common;
mod disturbances;
mod fleet;
mod jobs;
mod loads;
mod papers;
mod placement;
mod plans;
mod policies;
mod programs;
mod several_goals;
mod states;
mod variants;
