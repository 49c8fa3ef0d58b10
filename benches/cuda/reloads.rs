//! Random reloads over a GPU and two CPU partitions while a client sends.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use divisi_engine::serving::Engine;
use divisi_model::metrics::stats::quantile;
use divisi_runtime::compute::gpu::Precision;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::bed::Bed;
use crate::client::{Client, Quiz, random_neighbour, reference};

/// Unless another number is asked for.
const RELOADS: usize = 200;
/// GPUs and CPUs add in different orders.
const TOLERANCE: f32 = 1e-4;

pub fn run(words: &[String]) -> Result<()> {
    let count = match words {
        [] => RELOADS,
        [number, ..] => number.parse::<usize>().context("a number of reloads")?,
    };
    let bed = Bed::open("sample_ensembles/digits", Precision::F32)?;
    let without = bed.settled_bytes()?;
    let devices = ["cuda:0", "cpu:0", "cpu:1"];
    let engine = Arc::new(bed.serve(&devices, 8)?);
    let samples = bed.samples()?;
    let quiz = Quiz {
        values: samples.values(),
        width: bed.ensemble.input.shape.elements(),
        reference: &reference(&engine, samples.values())?,
        tolerance: TOLERANCE,
    };
    let first = engine.setup();
    // Once before anything is counted: what is made at first use stays.
    reload(&engine, count / 10, 1)?;
    engine.apply_setup(&first, &mut |_| {})?;
    let before = bed.settled_bytes()?;
    let client = Client::run(&engine, quiz, || reload(&engine, count, 7))?;
    engine.apply_setup(&first, &mut |_| {})?;
    let after = bed.settled_bytes()?;
    drop(engine);
    let left = bed.settled_bytes()?;
    let line = json!({
        "reloads": count,
        "requests": client.sent,
        "lost": client.lost,
        "doubled": client.twice,
        "different": client.different,
        "refused": client.refused,
        "longest_gap_ms": 1e3 * quantile(&client.gaps, 1.0),
        "used_before": before,
        "used_after": after,
        "used_without": without,
        "leaked": after.saturating_sub(before),
        "left": left.saturating_sub(without),
    });
    println!("{line}");
    Ok(())
}

fn reload(engine: &Engine, count: usize, seed: u64) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..count {
        let next = random_neighbour(engine, &mut random);
        engine.apply_setup(&engine.setup().with_matrix(next), &mut |_| {})?;
        // So that requests see each matrix.
        thread::park_timeout(Duration::from_millis(10));
    }
    Ok(())
}
