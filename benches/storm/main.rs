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
mod hours;
mod ledger;
mod setup;
mod world;

use std::time::Instant;

use ledger::Figures;
use world::World;

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let or = |at: usize, usual: u64| numbers.get(at).copied().unwrap_or(usual);
    events(or(0, 1_000), or(1, 1_000), or(2, 0));
    hours(or(3, 5), 2.0);
}

/// Random events over random setups.
fn events(runs: u64, events: u64, first: u64) {
    let start = Instant::now();
    let mut all = Figures::default();
    for seed in first..first + runs {
        let figures = World::new(seed).run(events);
        assert!(figures.are_right(), "seed {seed}: {figures:#?}");
        all.add(&figures);
    }
    println!("{runs} runs, seeds {first} to {}", first + runs - 1);
    println!("{all:#?}");
    println!("took {:.1} s", start.elapsed().as_secs_f64());
}

/// Serving on simulated devices under faults.
fn hours(runs: u64, hours: f64) {
    let start = Instant::now();
    let (mut answered, mut failed, mut refused, mut sent, mut faults) = (0, 0, 0, 0, 0);
    for seed in 0..runs {
        let (report, samples, befell) = hours::serve(seed, hours, 30.0);
        // Requests of one sample.
        answered += report.samples as u64;
        failed += report.failed;
        refused += report.refused;
        sent += samples as u64;
        faults += befell;
    }
    println!(
        "{:.0} hours of virtual serving, seeds 0 to {}: {faults} faults, {sent} requests, \
         {answered} answered, {failed} failed, {refused} refused, {} lost; took {:.1} s",
        runs as f64 * hours,
        runs - 1,
        sent as i64 - (answered + failed + refused) as i64,
        start.elapsed().as_secs_f64()
    );
    assert_eq!(answered + failed + refused, sent, "every request is over");
}
