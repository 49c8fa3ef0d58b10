//! The cost of the console, and how soon it answers.
//!
//! `cargo bench -p divisi --bench console` measures `live`, `keys`, `flood`,
//! `memory` and `idle` (two minutes; a machine that is otherwise idle);
//! `… --bench console -- live` one of them. `throughput` needs a terminal:
//! `benches/console/throughput.sh` opens one; `attached` is the same with a console in
//! another process (three minutes).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

#[path = "../common/mod.rs"]
mod common;

mod attached;
mod flood;
mod idle;
mod keys;
mod live;
mod memory;
mod pty;
mod screen;
mod synthetic;
mod throughput;

use anyhow::Result;

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let named: Vec<&String> = names.iter().filter(|n| !n.starts_with("--")).collect();
    let asked = |name: &str| named.iter().any(|n| *n == name) || named.is_empty();
    if named.iter().any(|n| *n == "attached") {
        attached::run()?;
    }
    if named.iter().any(|n| *n == "throughput") {
        throughput::run()?;
    }
    if asked("live") {
        live::run()?;
    }
    if asked("keys") {
        keys::run()?;
    }
    if asked("flood") {
        flood::run()?;
    }
    if asked("memory") {
        memory::run();
    }
    if asked("idle") {
        idle::run()?;
    }
    Ok(())
}
