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

#[path = "common/client.rs"]
mod client;
mod common;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use client::{Client, Quiz, REQUEST, random_neighbour, reference};
use common::Bed;
use divisi_model::metrics::stats::quantile;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const RELOADS: usize = 1000;

fn main() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let engine = Arc::new(bed.start(&bed.everywhere(8)?, bed.networks())?);
    let samples = bed
        .ensemble
        .calibration
        .clone()
        .ok_or_else(|| anyhow!("no samples"))?;
    let quiz = Quiz {
        values: samples.values(),
        width: 64,
        reference: &reference(&engine, samples.values())?,
        tolerance: 1e-5,
    };
    let before = Client::run(&engine, quiz, || {
        thread::park_timeout(Duration::from_secs(5));
        Ok(())
    })?;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let during = Client::run(&engine, quiz, || {
        for _ in 0..RELOADS {
            let next = random_neighbour(&engine, &mut random);
            engine.apply_setup(&engine.setup().with_matrix(next), &mut |_| {})?;
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
