//! The tests of the server that programs embed, over real connections.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

#[path = "../tasks/common.rs"]
#[allow(dead_code, reason = "shared by several crates of tests")]
mod common;
mod embedded;
mod errors;
mod selections;
mod tasks;
mod versions;
#[path = "../support/wait.rs"]
mod wait;
