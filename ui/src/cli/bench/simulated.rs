//! Simulated devices in virtual time: one run says it all, since it repeats exactly.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use divisi::allocation::Matrix;
use divisi::profile::Costs;
use divisi::simulation::{Scenario, Simulation, Workload};

use super::report::{BenchFigures, BenchReport};
use crate::cli::args::BenchArgs;
use crate::cli::open::OpenedEnsemble;

/// Runs `matrix` in virtual time.
pub fn measure(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &Arc<AtomicBool>,
) -> Result<BenchReport> {
    let scene = Scenario {
        ensemble: Arc::clone(&opened.ensemble),
        devices: opened.devices.clone(),
        matrix: matrix.clone(),
        costs: Arc::new(Costs::of_laws(&opened.ensemble, &opened.devices)),
        policy: opened.ensemble.policy,
    };
    let mut simulation = Simulation::new(&scene)?.until(Arc::clone(stopped));
    for limit in &args.max_inf {
        simulation = simulation.with_max_inf(opened.device(&limit.device)?, limit.samples);
    }
    let samples = args.samples;
    let run = simulation.run(match args.load.clone() {
        None => Workload::Saturate { samples },
        Some(pattern) => Workload::Pattern {
            pattern,
            samples,
            seed: args.seed,
        },
    })?;
    let figures = BenchFigures {
        runs: vec![(run.samples, run.elapsed.as_secs_f64())],
        latency: run.latency,
        split: run.split,
        refused: run.refused,
        dropped: 0,
        flawed: Vec::new(),
        in_virtual_time: true,
    };
    Ok(BenchReport::new(args, opened, matrix, figures))
}
