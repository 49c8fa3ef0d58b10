//! Random events over random setups in virtual time: panics, losses, drains, cancels,
//! deadlines, changes of policy, several lanes. Every request must be answered exactly once.
//!
//! `cargo bench --bench storm` lets a million events happen; `-- RUNS EVENTS FIRST_SEED`
//! others.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod deeds;
mod ledger;
mod setup;
mod world;

use std::time::Instant;

use ledger::Figures;
use world::World;

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let or = |at: usize, usual: u64| numbers.get(at).copied().unwrap_or(usual);
    let (runs, events, first) = (or(0, 1_000), or(1, 1_000), or(2, 0));
    let start = Instant::now();
    let mut all = Figures::default();
    for seed in first..first + runs {
        let figures = World::new(seed).run(events);
        assert!(figures.are_right(), "seed {seed}: {figures:#?}");
        all.add(&figures);
    }
    println!("runs      {runs}, seeds {first} to {}", first + runs - 1);
    println!("{all:#?}");
    println!("took      {:.1} s", start.elapsed().as_secs_f64());
}
