//! The model's search against greedy with real runs, digits on two partitions: what is
//! found, measured again side by side, and what it costs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use divisi_engine::search::{Cache, Control, Evaluator, Method, SearchResult};
use divisi_model::allocation::Matrix;
use divisi_model::metrics::stats::median;

use crate::agreement::bench;
use crate::common::Bed;

/// Samples of a run, and how often the two are run in turn.
const SAMPLES: usize = 1024;
const TURNS: usize = 15;

pub fn run() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let folder = std::env::temp_dir().join(format!("divisi-bench-{}", std::process::id()));
    let cold = search(&bed, Method::quick(), Some(Cache::at(&folder)))?;
    // Another seed, so that only the profiles are in the cache, not the result.
    let mut again = Method::quick();
    again.bounds.seed = 2;
    let warm = search(&bed, again, Some(Cache::at(&folder)))?;
    let _ = std::fs::remove_dir_all(&folder);
    let greedy = search(&bed, Method::default(), None)?;
    let scores = side_by_side(&bed, &[&warm.0.matrix, &greedy.0.matrix])?;
    println!(
        "model search: {:.2} s with profiling, {:.2} s without; greedy with bench: {:.1} s, {} measurements",
        cold.1.as_secs_f64(),
        warm.1.as_secs_f64(),
        greedy.1.as_secs_f64(),
        greedy.0.evaluations
    );
    println!(
        "model's matrix {:.0} samples/s, greedy's {:.0}: quality {:.3}, cost 1/{:.0} (1/{:.0} with profiling)",
        scores[0],
        scores[1],
        scores[0] / scores[1],
        greedy.1.as_secs_f64() / warm.1.as_secs_f64(),
        greedy.1.as_secs_f64() / cold.1.as_secs_f64()
    );
    println!("{:?}\n{:?}", warm.0.matrix, greedy.0.matrix);
    Ok(())
}

fn search(bed: &Bed, method: Method, cache: Option<Cache>) -> Result<(SearchResult, Duration)> {
    let job = bed.job(method, cache);
    let started = Instant::now();
    let outcome = job.run(&Arc::new(Control::default()))?;
    Ok((outcome.found, started.elapsed()))
}

/// Medians of runs in turn, so that whatever else the machine does meets all alike.
pub fn side_by_side(bed: &Bed, matrices: &[&Matrix]) -> Result<Vec<f64>> {
    let mut bench = bench(bed)?;
    let mut rates = vec![Vec::new(); matrices.len()];
    for _ in 0..TURNS {
        for (matrix, rates) in matrices.iter().zip(&mut rates) {
            rates.push(bench.glance(matrix, SAMPLES)?.samples_per_s);
        }
    }
    Ok(rates.iter().map(|r| median(r)).collect())
}
