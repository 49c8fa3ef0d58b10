//! The router's decision while an engine serves: microseconds and allocations of a query, from its arrival
//! until its variant is chosen.
//!
//! `cargo bench --bench routing`

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

#[path = "../modelless/allocations.rs"]
mod allocations;
#[path = "../../tests/tasks/common.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod common;

use std::hint::black_box;
use std::time::Instant;

use divisi_modelless::goals::QueryGoals;
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::TaskIndex;
use divisi_tasks::routing::LiveRouter;

use common::{MIDDLING, SMALL, WHOLE, serving};

const QUERIES: usize = 200_000;

fn main() {
    let live = serving(&[SMALL, MIDDLING, WHOLE]);
    println!("| part of a query | p50 µs | p99 µs | allocations |");
    println!("|---|---|---|---|");
    measure("follow what serves", || drop(black_box(live.follow())));
    measure("follow and choose a variant", || choose(&live));
}

/// Chooses a variant of the task for a query that 95 % of right answers suffice.
fn choose(live: &LiveRouter) {
    let goals = QueryGoals {
        accuracy: Some(Accuracy::percent(95.0).expect("percent")),
        ..QueryGoals::default()
    };
    let router = live.follow();
    let routed = router.route(TaskIndex(0), &goals, 1).expect("a variant");
    black_box(routed).withdraw();
}

fn measure(part: &str, mut query: impl FnMut()) {
    (0..QUERIES / 10).for_each(|_| query());
    let mut times = Vec::with_capacity(QUERIES);
    let before = allocations::count();
    for _ in 0..QUERIES {
        let begun = Instant::now();
        query();
        times.push(begun.elapsed().as_nanos() as u64);
    }
    let allocated = allocations::count() - before;
    times.sort_unstable();
    let at = |share: f64| times[(share * (QUERIES - 1) as f64) as usize] as f64 / 1e3;
    let each = allocated as f64 / QUERIES as f64;
    println!("| {part} | {:.2} | {:.2} | {each:.2} |", at(0.5), at(0.99));
}
