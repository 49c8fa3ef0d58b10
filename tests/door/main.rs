//! The tests of the door: what clients send and get, over real connections.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod access;
mod attacks;
mod cache;
mod callers;
mod client;
mod configurations;
mod connection_table;
mod connections;
mod contradictions;
mod data;
mod encodings;
mod ensemble;
mod grpc;
mod grpc_bounds;
mod grpc_call;
mod handover;
mod heads;
mod histograms;
mod http;
mod index;
mod keys;
mod large_bodies;
mod lengths;
mod limits;
mod model_calls;
mod no_batch;
mod non_finite;
#[path = "../support/open_rows.rs"]
mod open_rows;
mod packed_messages;
mod pipelines;
mod queueing;
mod readiness;
mod repository;
mod service;
mod shared_memory;
mod statistics;
mod stopping;
mod tls;
mod totals;
mod traces;
mod users;
#[path = "../support/wait.rs"]
mod wait;
mod warmups;
mod webhook;
mod wire;
