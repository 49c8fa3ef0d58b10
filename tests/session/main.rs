//! The tests of sessions: what a console sees of an engine and asks of it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

#[path = "../support/answering.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod answering;
mod answers;
#[path = "../support/bookcase.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod bookcase;
mod codes;
mod common;
mod deployment;
#[path = "../support/devices.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod devices;
mod doors;
#[path = "../support/engines.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod engines;
mod fates;
mod figures;
mod flaws;
#[path = "../support/folder.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod folder;
mod gpu;
#[path = "../support/gpu_bed/mod.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod gpu_bed;
mod host;
mod hostile;
mod losses;
mod mix;
mod mixed;
mod model_changes;
#[path = "../support/place.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod place;
mod plans;
mod precision_changes;
mod recordings;
mod remote;
mod retiring;
#[path = "../support/sample.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod sample;
mod search_quiet;
mod session;
mod setup_files;
mod setups;
#[path = "../support/spoilt.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod spoilt;
mod standing;
mod traced;
mod transport;
mod undo;
mod voting;
#[path = "../support/wait.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod wait;
mod what_if;
