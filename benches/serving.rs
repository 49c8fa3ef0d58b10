//! Digits served by Divisi against a bare loop: per partition one pinned thread runs
//! its row's batches of its row's networks from atomic counters, no system around.
//!
//! `cargo bench --bench serving`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use common::Bed;
use divisi_engine::load::{Until, saturate};
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::Samples;
use divisi_model::metrics::stats::{median, rsd};
use divisi_runtime::compute::{Predictor, host_rows, write_rows};
use divisi_runtime::device::{Computation, DeviceIndex, MemberIndex, pin_current_thread};

/// Samples a run, and runs of each contestant.
const SAMPLES: usize = 4096;
const RUNS: usize = 10;

fn main() -> Result<()> {
    let two = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let one = Bed::open("sample_ensembles/digits", &["cpu:0"])?;
    let size = 16;
    let (ours, bare) = alternate(&two, &two.everywhere(size)?)?;
    let (ours_one, bare_one) = alternate(&one, &one.everywhere(size)?)?;
    println!(
        "digits, two partitions, batch {size}: {:.0} samples/s, bare loop {:.0}: ratio {:.4} (to reach 0.98)",
        median(&ours),
        median(&bare),
        ratio(&ours, &bare)
    );
    println!(
        "relative standard deviation over {RUNS} runs: {:.2} %, bare loop {:.2} %: ratio {:.2} (to reach 1.2)",
        100.0 * rsd(&ours),
        100.0 * rsd(&bare),
        rsd(&ours) / rsd(&bare)
    );
    let (scaling, bare_scaling) = (
        median(&ours) / median(&ours_one),
        median(&bare) / median(&bare_one),
    );
    println!(
        "two partitions over one: {scaling:.3}, bare loop {bare_scaling:.3}: ratio {:.4} (to reach 0.97)",
        scaling / bare_scaling
    );
    Ok(())
}

/// The median of the ratios of runs made one after the other.
fn ratio(a: &[f64], b: &[f64]) -> f64 {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
    median(&ratios)
}

/// Samples a second of both, run in turn.
fn alternate(bed: &Bed, matrix: &Matrix) -> Result<(Vec<f64>, Vec<f64>)> {
    let samples = bed
        .ensemble
        .calibration
        .clone()
        .ok_or_else(|| anyhow::anyhow!("no samples"))?;
    let engine = bed.start(matrix, bed.networks())?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for run in 0..=RUNS {
        let a = saturate(&engine, &samples, SAMPLES, Until::default(), |_, _| {})?.samples_per_s();
        let b = bare_loop(bed, matrix, &samples)?;
        if run > 0 {
            ours.push(a);
            bare.push(b);
        }
    }
    Ok((ours, bare))
}

fn bare_loop(bed: &Bed, matrix: &Matrix, samples: &Samples) -> Result<f64> {
    let factory = bed.networks();
    let members = bed.ensemble.members.len();
    let counters: Arc<Vec<AtomicUsize>> =
        Arc::new((0..members).map(|_| AtomicUsize::new(0)).collect());
    let mut rows: Vec<Vec<Worker>> = Vec::new();
    for device in bed.devices.indices() {
        let mut row = Vec::new();
        for (cell, size) in matrix.workers().filter(|(c, _)| c.device == device) {
            let input = host_rows(size.get(), 64)?;
            // Real samples: branches and speculation see what they see when serving.
            let rows = samples.rows(0, size.get());
            write_rows(&input, |values| {
                bed.ensemble.input.transform(rows[..].into(), values)
            })?;
            row.push(Worker {
                member: cell.member,
                size: size.get(),
                predictor: factory.build(bed.ensemble.network(cell.member), size, None)?,
                input,
                output: host_rows(size.get(), 10)?,
            });
        }
        rows.push(row);
    }
    let barrier = Arc::new(std::sync::Barrier::new(rows.len() + 1));
    let threads: Vec<_> = DeviceIndex::enumerate(rows)
        .map(|(device, row)| {
            let cores = match bed.devices.get(device).kind.computation() {
                Computation::Kernels(cores) => cores.to_vec(),
                _ => Vec::new(),
            };
            let (counters, barrier) = (Arc::clone(&counters), Arc::clone(&barrier));
            thread::spawn(move || {
                pin_current_thread(&cores);
                barrier.wait();
                run_row(row, &counters)
            })
        })
        .collect();
    barrier.wait();
    let start = Instant::now();
    for thread in threads {
        thread
            .join()
            .map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    Ok(SAMPLES as f64 / start.elapsed().as_secs_f64())
}

struct Worker {
    member: MemberIndex,
    size: usize,
    predictor: Box<dyn Predictor>,
    input: candle_core::Tensor,
    output: candle_core::Tensor,
}

fn run_row(mut row: Vec<Worker>, counters: &[AtomicUsize]) -> Result<()> {
    loop {
        let mut idle = true;
        for worker in &mut row {
            let first = counters[worker.member].fetch_add(worker.size, Ordering::Relaxed);
            if first >= SAMPLES {
                continue;
            }
            idle = false;
            let batch = worker.size.min(SAMPLES - first);
            worker
                .predictor
                .predict(batch, &worker.input, &worker.output)?;
        }
        if idle {
            return Ok(());
        }
    }
}
