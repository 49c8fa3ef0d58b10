//! The tests of ensembles, samples, matrices and other values that are served.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod allocation;
#[path = "../support/answer_kinds.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod answer_kinds;
#[path = "../support/answering.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod answering;
mod answers;
mod calibrations;
mod common;
#[path = "../support/devices.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod devices;
mod ensemble;
mod ensemble_images;
mod errors;
#[path = "../support/folder.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod folder;
mod int8;
mod metrics;
#[path = "../support/npy.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod npy;
#[path = "../support/npz.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod npz;
mod onnx_members;
#[path = "../support/place.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod place;
mod precision_names;
mod precision_remarks;
mod replace;
mod requests;
#[path = "../support/sample.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod sample;
mod samples;
mod samples_images;
mod samples_jpegs;
mod samples_packed;
mod trace;
