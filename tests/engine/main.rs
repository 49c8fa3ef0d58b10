//! The engine's tests, one module a room of `src/`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod allocation;
#[path = "../support/answering.rs"]
mod answering;
mod answers;
mod calibration;
mod changes;
mod codes;
mod combination;
mod common;
mod compute;
mod core;
mod dataflow;
mod delays;
mod deployment;
mod device;
mod documents;
mod doors;
mod drain;
mod ensemble;
mod ensemble_images;
mod fates;
mod flaws;
#[path = "../support/folder.rs"]
mod folder;
mod gauges;
mod glossary;
mod gpu;
mod gpu_names;
mod gpu_search;
mod gpu_tensors;
mod handover;
mod hostile;
mod house;
mod inputs;
mod judge;
mod judge_risk;
mod kernel_params;
mod kernels;
mod lanes;
mod latencies;
mod layers;
mod lengths;
mod load;
mod locks;
mod looked_up;
mod losses;
mod made_onnx;
mod metrics;
mod mix;
mod model_changes;
mod named_tensors;
mod network_ends;
mod networks;
mod normalisation;
#[path = "../support/npy.rs"]
mod npy;
mod onnx;
mod onnx_batches;
mod onnx_defined;
mod onnx_dynamic;
mod onnx_hostile;
mod onnx_made;
mod onnx_quantised;
mod owed;
mod papers;
mod papers_search;
mod pipelines;
mod plans;
mod pool;
mod pool_memory;
mod precision;
mod precision_changes;
mod precision_names;
mod precision_remarks;
mod promises;
mod pytorch;
mod queueing;
mod quorums;
mod received;
mod recordings;
mod reload;
mod remote;
mod replace;
mod retiring;
mod samples;
mod samples_images;
mod samples_jpegs;
mod samples_packed;
mod search;
mod search_bounds;
mod search_goals;
mod search_local;
mod search_model;
mod search_plan;
mod search_precisions;
mod search_progress;
mod search_quiet;
mod search_relief;
mod search_scores;
mod serving;
mod session;
mod setup_files;
mod setups;
mod simulation;
#[path = "../support/sources.rs"]
mod sources;
#[path = "../support/spoilt.rs"]
mod spoilt;
mod standing;
mod storm;
mod tensors;
mod text_padding;
mod text_tokens;
mod texts;
mod trace;
mod traced;
mod transport;
mod voting;
#[path = "../support/wait.rs"]
mod wait;
mod waking;
mod weights;
mod weights_damage;
mod weights_forms;
mod weights_made;
mod weights_names;
