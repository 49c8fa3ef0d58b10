//! The console on a fake session: whole screens, and keys to commands.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod cli;
mod fake;
mod screens;
mod terminal;
mod updates;
