//! A thousand random valid reloads while a client sends steadily.
//!
//! `cargo bench --bench reload`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use common::Bed;
use divisi::ensemble::BatchSize;
use divisi::metrics::stats::quantile;
use divisi::serving::{Engine, Request};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RELOADS: usize = 1000;
/// Samples of one request.
const REQUEST: usize = 8;
/// Requests under way at once: the client sends the next as one is answered.
const UNDER_WAY: usize = 4;

fn main() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let engine = Arc::new(bed.start(&bed.everywhere(8)?, bed.networks())?);
    let samples = bed
        .ensemble
        .calibration
        .clone()
        .ok_or_else(|| anyhow!("no samples"))?;
    let reference = reference(&engine, samples.values())?;
    let before = Client::run(&engine, samples.values(), &reference, |_| {
        thread::park_timeout(Duration::from_secs(5));
        Ok(())
    })?;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let during = Client::run(&engine, samples.values(), &reference, |_| {
        for _ in 0..RELOADS {
            let next = random_neighbour(&engine, &mut random);
            engine.reload(&next, |_| {})?;
            // So that requests see each matrix, and the client more than one.
            thread::park_timeout(Duration::from_millis(10));
        }
        Ok(())
    })?;
    let p99 = quantile(&before.gaps, 0.99);
    let longest = quantile(&during.gaps, 1.0);
    println!(
        "{RELOADS} random reloads, {} requests of {REQUEST}: lost {}, answered twice {}, answered differently {}, refused {}",
        during.sent, during.lost, during.twice, during.different, during.refused
    );
    println!(
        "gap between answers: p99 before {:.2} ms, longest during {:.2} ms: ratio {:.1}",
        1e3 * p99,
        1e3 * longest,
        longest / p99
    );
    Ok(())
}

/// Several random entries changed at once, whatever is valid.
fn random_neighbour(engine: &Engine, random: &mut ChaCha8Rng) -> divisi::allocation::Matrix {
    let mut matrix = engine.matrix();
    let cells: Vec<_> = matrix.cells().collect();
    let sizes: Vec<Option<BatchSize>> = std::iter::once(None)
        .chain(matrix.frame().batch_sizes.iter().map(Some))
        .collect();
    for _ in 0..random.random_range(1..=4) {
        let (cell, size) = (cells.choose(random), sizes.choose(random));
        if let Some(Ok(next)) = cell.zip(size).map(|(c, s)| matrix.with(*c, *s)) {
            matrix = next;
        }
    }
    matrix
}

fn reference(engine: &Engine, values: &[f32]) -> Result<Vec<Vec<f32>>> {
    let answer = engine
        .predict(Request::new(values))?
        .map_err(|e| anyhow!("{e}"))?;
    Ok(answer.rows().map(<[f32]>::to_vec).collect())
}

#[derive(Default)]
struct Client {
    sent: usize,
    lost: usize,
    twice: usize,
    different: usize,
    refused: usize,
    /// Seconds between one answer and the next.
    gaps: Vec<f64>,
}

impl Client {
    /// Sends steadily while `meanwhile` does its work.
    fn run(
        engine: &Arc<Engine>,
        values: &[f32],
        reference: &[Vec<f32>],
        meanwhile: impl FnOnce(()) -> Result<()>,
    ) -> Result<Client> {
        let over = Arc::new(AtomicBool::new(false));
        thread::scope(|scope| {
            let flag = Arc::clone(&over);
            let client = scope.spawn(move || send(engine, values, reference, &flag));
            let done = meanwhile(());
            over.store(true, Ordering::Release);
            let client = client
                .join()
                .map_err(|_| anyhow!("the client panicked"))??;
            done.map(|()| client)
        })
    }
}

fn send(
    engine: &Engine,
    values: &[f32],
    reference: &[Vec<f32>],
    over: &AtomicBool,
) -> Result<Client> {
    let mut client = Client::default();
    let (answers, inbox) = std::sync::mpsc::channel();
    let mut last = Instant::now();
    let mut counted = vec![];
    let mut under_way = 0;
    while !over.load(Ordering::Acquire) {
        while under_way < UNDER_WAY {
            let first = (client.sent * REQUEST) % (reference.len() - REQUEST);
            let number = client.sent;
            let rows = &values[first * 64..(first + REQUEST) * 64];
            let answers = answers.clone();
            let reply = move |outcome| {
                let _ = answers.send((number, first, Instant::now(), outcome));
            };
            if engine
                .submit_with(Request::new(rows), Box::new(reply))
                .is_err()
            {
                client.refused += 1;
                break;
            }
            counted.push(0);
            client.sent += 1;
            under_way += 1;
        }
        if let Ok((number, first, at, outcome)) = inbox.recv_timeout(Duration::from_secs(2)) {
            under_way -= 1;
            judge(&mut client, &mut counted, reference, number, first, outcome);
            client.gaps.push((at - last).as_secs_f64());
            last = at;
        }
    }
    while let Ok((number, first, _, outcome)) = inbox.recv_timeout(Duration::from_secs(2)) {
        judge(&mut client, &mut counted, reference, number, first, outcome);
    }
    client.lost += counted.iter().filter(|&&n| n == 0).count();
    client.twice += counted.iter().filter(|&&n| n > 1).count();
    Ok(client)
}

fn judge(
    client: &mut Client,
    counted: &mut [usize],
    reference: &[Vec<f32>],
    number: usize,
    first: usize,
    outcome: divisi::serving::Outcome,
) {
    counted[number] += 1;
    let Ok(answer) = outcome else {
        client.lost += 1;
        return;
    };
    let same = answer.rows().zip(&reference[first..]).all(|(a, b)| {
        a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1e-2))
    });
    client.different += usize::from(!same);
}
