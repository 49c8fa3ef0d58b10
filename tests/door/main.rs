//! The tests of the door: what clients send and get, over real connections.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod client;
mod data;
mod ensemble;
mod grpc;
mod http;
mod keys;
mod limits;
mod pipelines;
mod service;
mod shared_memory;
#[path = "../support/wait.rs"]
mod wait;
