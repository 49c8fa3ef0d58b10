//! How often a probation is wrong: many of them, seeded, judged as they are live.

use std::time::Duration;

use divisi_engine::changes::{Baseline, Judge, JudgeVerdict, Terms};
use divisi_model::metrics::Reading;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// As of a queue with time to spare.
    Exponential,
    LogNormal,
    /// Its tail falls by no more than the power of 1.5.
    Pareto,
    /// Two in a hundred wait behind something large.
    TwoModes,
    /// Four requests share a batch and its time.
    Batches,
}

const LAWS: [Law; 5] = [
    Law::Exponential,
    Law::LogNormal,
    Law::Pareto,
    Law::TwoModes,
    Law::Batches,
];

struct Service {
    law: Law,
    random: ChaCha8Rng,
    batch: (u32, f64),
}

impl Service {
    fn new(law: Law, seed: u64) -> Self {
        Service {
            law,
            random: ChaCha8Rng::seed_from_u64(seed),
            batch: (0, 0.0),
        }
    }

    fn uniform(&mut self) -> f64 {
        1.0 - self.random.random::<f64>()
    }

    /// By Box and Muller.
    fn log_normal(&mut self) -> f64 {
        let turn = std::f64::consts::TAU * self.uniform();
        5_000.0 * ((-2.0 * self.uniform().ln()).sqrt() * turn.cos()).exp()
    }

    fn latency(&mut self) -> f64 {
        match self.law {
            Law::Exponential => -5_000.0 * self.uniform().ln(),
            Law::LogNormal => self.log_normal(),
            Law::Pareto => 1_000.0 * self.uniform().powf(-1.0 / 1.5),
            Law::TwoModes => match self.uniform() < 0.02 {
                true => 80_000.0 + 20_000.0 * self.uniform(),
                false => 4_000.0 + 1_000.0 * self.uniform(),
            },
            Law::Batches => {
                if self.batch.0 == 0 {
                    self.batch = (4, self.log_normal());
                }
                self.batch.0 -= 1;
                self.batch.1
            }
        }
    }

    /// Serves so many, `factor` times as slowly.
    fn serve(&mut self, count: u64, factor: f64, into: &mut Reading) {
        for _ in 0..count {
            let micros = (self.latency() * factor) as u64;
            into.latency.record(micros, 1);
        }
        into.answered += count;
    }
}

/// Requests in each of the twelve pieces before a change.
const PIECE: u64 = 500;

/// Whether a change by `factor` is rolled back, looked at fifty times in all, once as many
/// requests came as it asks for.
fn is_rolled_back(law: Law, seed: u64, factor: f64) -> bool {
    let mut service = Service::new(law, seed);
    let mut before = Baseline::default();
    for _ in 0..12 {
        let earlier = before.whole.clone();
        service.serve(PIECE, 1.0, &mut before.whole);
        before.pieces.push(before.whole.since(&earlier));
    }
    let terms = Terms {
        lasts: Duration::from_secs(50),
        p99: Some(1.0),
        failures: Some(0.01),
        accuracy: None,
    };
    let judge = Judge::new(terms, &before, Duration::ZERO);
    let mut after = Reading::default();
    let checks = judge.checks(&after);
    let asked = checks.iter().map(|check| check.missing).max().unwrap_or(0);
    (1..=50).any(|second| {
        service.serve(asked.div_ceil(50), factor, &mut after);
        let verdict = judge.step(Duration::from_secs(second), &after, 0);
        matches!(verdict, JudgeVerdict::Failed(_))
    })
}

/// Of 400 trials of each law.
fn rolled_back(factor: f64) -> Vec<(Law, usize)> {
    let count = |law| {
        let seeds = 0..400;
        seeds
            .filter(|&seed| is_rolled_back(law, seed, factor))
            .count()
    };
    LAWS.map(|law| (law, count(law))).to_vec()
}

#[test]
fn a_change_that_changes_nothing_is_rolled_back_in_one_of_a_hundred_at_most() {
    let found = rolled_back(1.0);
    println!("nothing changed, rolled back of 400 each: {found:?}");
    let all: usize = found.iter().map(|(_, count)| count).sum();
    assert!(all <= 20, "{all} of 2000: {found:?}");
    assert!(found.iter().all(|(_, count)| *count <= 4), "{found:?}");
}

#[test]
fn a_p99_that_doubled_is_found_in_ninety_five_of_a_hundred_at_least() {
    let found = rolled_back(2.0);
    println!("p99 doubled, rolled back of 400 each: {found:?}");
    // Two modes that double bring one request of a hundred more above the limit, from one
    // to two: just what is promised, less what the time before leaves open.
    let promised = found
        .iter()
        .filter(|(law, _)| !matches!(law, Law::TwoModes));
    for (law, count) in promised {
        assert!(*count >= 380, "{law:?}: {count} of 400");
    }
}

/// How it was decided before: the raw p99 of thirty requests, or at the end.
#[test]
fn the_raw_p99_of_a_few_requests_decides_by_chance() {
    let mut wrong = 0;
    for seed in 0..400 {
        let mut service = Service::new(Law::LogNormal, seed);
        let [mut before, mut after] = [Reading::default(), Reading::default()];
        service.serve(6000, 1.0, &mut before);
        service.serve(30, 1.0, &mut after);
        let [was, now] = [before, after].map(|r| r.latency.quantiles([0.99])[0] as f64);
        wrong += usize::from(now > was * 1.2);
    }
    println!("raw p99 of thirty against 1.2 times what it was: {wrong} of 400");
    assert!(wrong > 20, "that is why a bound decides: {wrong} of 400");
}
