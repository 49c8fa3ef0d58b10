//! The engine's tests, one module a room of `src/`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod allocation;
mod combination;
mod common;
mod compute;
mod core;
mod device;
mod ensemble;
mod fates;
mod gauges;
mod gpu;
mod gpu_names;
mod gpu_search;
mod inputs;
mod judge;
mod judge_risk;
mod kernel_params;
mod kernels;
mod latencies;
mod layers;
mod load;
mod metrics;
mod networks;
mod papers;
mod papers_search;
mod pool;
mod pytorch;
mod reload;
mod search;
mod search_goals;
mod search_local;
mod search_model;
mod search_progress;
mod search_quiet;
mod search_relief;
mod serving;
mod session;
mod setup_files;
mod setups;
mod simulation;
mod standing;
mod storm;
mod trace;
mod transport;
mod voting;
#[path = "../support/wait.rs"]
mod wait;
mod weights;
