//! The model against real runs, digits on two partitions.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow};
use divisi_engine::search::model::{Batching, ModelEvaluator};
use divisi_engine::search::profiling::Profiler;
use divisi_engine::search::{BenchEvaluator, Control, Evaluator};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::BatchSize;
use divisi_model::metrics::stats::{median, quantile};
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use crate::common::Bed;

const MATRICES: usize = 50;
/// Samples of a run, as benchmark mode has them, and runs of a matrix.
const SAMPLES: usize = 1024;
const RUNS: usize = 3;
/// Matrices run at most, repetitions counted.
const MOST_ATTEMPTS: usize = 150;
/// Of the reference matrix's best rate, where the machine is not disturbed.
const STEADY: f64 = 0.93;
/// Profiles are measured so often, one after another; each predicts every matrix.
const PROFILES: usize = 3;

/// A virtual machine's cores are faster at some times than at others. A matrix that does
/// not change is run between the others; where it was slow, whatever was run beside it is
/// run again.
pub fn run() -> Result<()> {
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let mut models = Vec::new();
    for _ in 0..PROFILES {
        models.push(model(&bed)?);
    }
    let mut field = Field::new(&bed)?;
    let mut pairs = Vec::new();
    let mut attempts = 0;
    for matrix in matrices(&bed) {
        let predicted: Vec<f64> = models.iter_mut().map(|m| m.run(&matrix)).collect();
        let measured = loop {
            attempts += 1;
            let (rate, steady) = field.measure(&matrix)?;
            if steady || attempts > MOST_ATTEMPTS {
                break rate;
            }
        };
        let each = predicted.into_iter().map(|predicted| (predicted, measured));
        pairs.push(each.collect::<Vec<_>>());
    }
    let again = attempts - MATRICES;
    println!("{again} runs repeated because the machine was slower around them");
    report(&pairs);
    Ok(())
}

fn matrices(bed: &Bed) -> Vec<Matrix> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let all = std::iter::repeat_with(|| random_matrix(&bed.frame(), &mut random));
    all.flatten().take(MATRICES).collect()
}

/// An engine, and how fast it runs what does not change.
struct Field {
    bench: BenchEvaluator,
    reference: Matrix,
    best: f64,
    last: f64,
}

impl Field {
    fn new(bed: &Bed) -> Result<Self> {
        let mut field = Field {
            bench: bench(bed)?,
            reference: bed.everywhere(32)?,
            best: 0.0,
            last: 0.0,
        };
        for _ in 0..RUNS {
            field.run_reference()?;
        }
        Ok(field)
    }

    fn run_reference(&mut self) -> Result<f64> {
        let rate = self.bench.glance(&self.reference, SAMPLES)?.samples_per_s;
        self.best = self.best.max(rate);
        Ok(std::mem::replace(&mut self.last, rate))
    }

    /// A matrix's rate, and whether the machine was as fast as it can be around it.
    fn measure(&mut self, matrix: &Matrix) -> Result<(f64, bool)> {
        let mut rates = Vec::new();
        for _ in 0..RUNS {
            rates.push(self.bench.glance(matrix, SAMPLES)?.samples_per_s);
        }
        let before = self.run_reference()?;
        let slowest = before.min(self.last);
        Ok((median(&rates), slowest > STEADY * self.best))
    }
}

/// Every prediction counts, whichever profile it is from: a search has one profile, and
/// nobody tells it which is the best of three.
fn report(matrices: &[Vec<(f64, f64)>]) {
    let all: Vec<(f64, f64)> = matrices.iter().flatten().copied().collect();
    said("all profiles", &all);
    for number in 0..PROFILES {
        let pairs: Vec<(f64, f64)> = matrices.iter().map(|each| each[number]).collect();
        said(&format!("profile {}", number + 1), &pairs);
    }
}

fn said(what: &str, pairs: &[(f64, f64)]) {
    let errors: Vec<f64> = pairs.iter().map(|(p, m)| (p / m - 1.0).abs()).collect();
    let biases: Vec<f64> = pairs.iter().map(|(p, m)| p / m - 1.0).collect();
    println!(
        "model against bench, {MATRICES} random matrices, {what}: median error {:.1} %, p90 {:.1} %, median bias {:+.1} %, rank correlation {:.3}",
        100.0 * median(&errors),
        100.0 * quantile(&errors, 0.9),
        100.0 * median(&biases),
        rank_correlation(pairs)
    );
}

pub fn bench(bed: &Bed) -> Result<BenchEvaluator> {
    let samples = bed.ensemble.calibration.clone();
    let samples = samples.ok_or_else(|| anyhow!("no samples"))?;
    Ok(BenchEvaluator::new(
        &Catalogue::from_ensemble(Arc::clone(&bed.ensemble)),
        bed.devices.clone(),
        bed.networks(),
        samples,
        Arc::default(),
    ))
}

pub fn model(bed: &Bed) -> Result<ModelEvaluator> {
    let footprints = Footprints::plan(&bed.ensemble, &bed.devices);
    let started = Instant::now();
    let profiled = Profiler {
        catalogue: &Catalogue::from_ensemble(Arc::clone(&bed.ensemble)),
        devices: &bed.devices,
        footprints: &footprints,
        factory: bed.networks().as_ref(),
        cache: None,
        control: &Control::default(),
    }
    .costs()?;
    println!(
        "profiling digits: {:.2} s ({:.2} s with what comes before)",
        profiled.elapsed.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    Ok(ModelEvaluator::new(
        &bed.frame(),
        &bed.devices,
        footprints,
        &profiled.costs,
        Batching::from_ensemble(&bed.ensemble),
    )?)
}

/// Half of the entries empty, the others of any size.
fn random_matrix(frame: &Arc<Frame>, random: &mut ChaCha8Rng) -> Option<Matrix> {
    let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
    let cells = frame.devices.len() * frame.members.len();
    let entry = |random: &mut ChaCha8Rng| {
        let some = *[true, false].choose(random)?;
        sizes.choose(random).copied().filter(|_| some)
    };
    let entries = (0..cells).map(|_| entry(random)).collect();
    Matrix::new(Arc::clone(frame), entries).ok()
}

/// Spearman's: the correlation of the ranks.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |value: fn(&(f64, f64)) -> f64| {
        let below = |x: f64| pairs.iter().filter(|p| value(p) < x).count() as f64;
        let mean = (pairs.len() - 1) as f64 / 2.0;
        let ranks = pairs.iter().map(|p| below(value(p)) - mean);
        ranks.collect::<Vec<f64>>()
    };
    let (a, b) = (ranks(|p| p.0), ranks(|p| p.1));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}
