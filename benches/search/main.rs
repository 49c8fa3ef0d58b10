//! The search that takes seconds: how fast the model scores, how well it agrees with
//! real runs, what the matrices it finds are worth.
//!
//! `cargo bench --bench search` prints a table in a few minutes;
//! `cargo bench --bench search -- exhaustive` also runs every matrix of a small instance
//! (about ten minutes more).

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
mod speed;

use anyhow::Result;

fn main() -> Result<()> {
    let asked = |name: &str| {
        let mut names = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
        let all = std::env::args().skip(1).all(|a| a.starts_with("--"));
        names.any(|a| a == name) || (all && name != "exhaustive")
    };
    if asked("speed") {
        speed::run()?;
    }
    if asked("agreement") {
        agreement::run()?;
    }
    Ok(())
}
