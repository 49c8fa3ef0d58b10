//! Tests that need a GPU, or the fake driver of `tests/cuda/driver`: built with the feature
//! `cuda` alone, run by `.ci/cuda` and on machines with a GPU.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

#[path = "../../benches/common/transformer.rs"]
mod transformer;

mod bench;
mod driver;
#[path = "../support/emulated/mod.rs"]
mod emulated;
mod geometry;
mod networks;
mod tensors;
