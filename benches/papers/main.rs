//! The papers' tables again, in virtual time on simulated devices.
//!
//! `cargo bench --bench papers [-- table1 table3 ebird scaling]`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program run by hand"
)]

mod ebird;
mod scaling;
mod stage;
mod tables;

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|a| a == name);
    if wanted("table1") {
        tables::table_one();
    }
    if wanted("table3") {
        tables::table_three();
    }
    if wanted("scaling") {
        scaling::run();
    }
    if wanted("ebird") {
        ebird::run();
    }
}
