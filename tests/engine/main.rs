//! The tests of the engine: requests, searches and changes.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

#[path = "../support/answer_kinds.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod answer_kinds;
#[path = "../support/answering.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod answering;
mod answers;
#[path = "../support/bookcase.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod bookcase;
mod changes;
mod combination;
mod common;
mod core;
mod dataflow;
mod delays;
mod device;
mod device_profiles;
#[path = "../support/devices.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod devices;
mod drain;
#[path = "../support/engines.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod engines;
mod flaws;
#[path = "../support/folder.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod folder;
mod gpu;
#[path = "../support/gpu_bed/mod.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod gpu_bed;
mod gpu_search;
mod handover;
mod inputs;
mod judge;
mod judge_risk;
mod kept_profiles;
mod lanes;
mod latencies;
mod lengths;
mod load;
mod looked_up;
mod named_tensors;
mod network_ends;
mod normalisation;
#[path = "../support/npy.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod npy;
#[path = "../support/npz.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod npz;
mod owed;
mod papers;
mod papers_search;
mod pipelines;
#[path = "../support/place.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod place;
mod pool;
mod pool_memory;
mod precision;
mod predictions;
mod promises;
mod queueing;
mod quorums;
mod received;
mod reload;
#[path = "../support/sample.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod sample;
mod samples_served;
mod search;
mod search_bounds;
mod search_goals;
mod search_local;
mod search_model;
mod search_plan;
mod search_precisions;
mod search_progress;
mod search_relief;
mod search_scores;
mod serving;
mod simulation;
#[path = "../support/spoilt.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod spoilt;
mod storm;
mod text_padding;
mod text_tokens;
mod texts;
#[path = "../support/wait.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod wait;
mod waking;
