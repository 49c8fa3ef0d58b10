//! The papers' tables again, in virtual time on simulated devices.
//!
//! `cargo bench --bench papers [-- table1 table3 ebird cost]`; with `--write` the tables go
//! to `benches/papers/RESULTS.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program run by hand"
)]

mod cost;
mod deviation;
mod ebird;
mod machine;
mod page;
mod published;
mod stage;
mod tables;

use deviation::Deviations;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let write = arguments.iter().any(|a| a == "--write");
    let asked: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |name: &str| write || asked.is_empty() || asked.iter().any(|a| *a == name);
    let mut sections = vec![page::provenance()];
    if wanted("table1") {
        let mut deviations = Deviations::default();
        let table = tables::table_one(&mut deviations);
        sections.extend([deviations.summary(), table, page::CAUSES.to_owned()]);
    }
    if wanted("table3") {
        sections.push(tables::table_three());
    }
    if wanted("ebird") {
        sections.push(ebird::table());
    }
    // The time of this machine is no part of the page.
    if wanted("cost") && !write {
        sections.push(cost::section());
    }
    let text = sections.join("\n");
    println!("{text}");
    if write {
        page::write(&text).expect("RESULTS.md can be written");
    }
}
