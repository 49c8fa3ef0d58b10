//! The search that takes seconds: how fast the model scores, how well it agrees with
//! real runs, what the matrices it finds are worth.
//!
//! `cargo bench --bench search` prints everything but the long parts (about four minutes on two cores;
//! the machine has to be otherwise idle). `cargo bench --bench search -- speed` prints one part:
//! `speed`, `agreement`, `quality`, `exhaustive` (about ten minutes), or `plans` (plans against
//! allocations, in virtual time).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod exhaustive;
mod plans;
mod quality;
mod speed;

use anyhow::Result;

/// Parts that run only if they are named.
const LONG: [&str; 2] = ["exhaustive", "plans"];

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let named: Vec<&&str> = names.iter().filter(|n| !n.starts_with("--")).collect();
    let asked = |name: &str| named.contains(&&name) || (named.is_empty() && !LONG.contains(&name));
    if asked("speed") {
        speed::run()?;
    }
    if asked("agreement") {
        agreement::run()?;
    }
    if asked("quality") {
        quality::run()?;
    }
    if asked("plans") {
        plans::run()?;
    }
    if asked("exhaustive") {
        exhaustive::run()?;
    }
    Ok(())
}
