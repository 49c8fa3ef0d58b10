//! `divisi bench`: measures how fast a matrix serves.
//!
//! Devices of this machine serve in real time. If all devices are simulated, the run is in
//! virtual time, unless real time is asked for.

mod live;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use divisi::allocation::Matrix;
use divisi::ensemble::{Ensemble, PolicyKind};
use divisi::profile::Costs;
use divisi::simulation::{Scenario, Simulation, Workload};

use super::args::{BenchArgs, OutputFormat};
use super::open::{OpenedEnsemble, files, with_devices};
use super::report::{print, print_json, refuse_flawed};
use super::signals;
use report::{BenchFigures, BenchReport, text};

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let mut ensemble = Ensemble::read(&files(&args.target.ensemble))?;
    ensemble.policy = args.policy.unwrap_or(ensemble.policy);
    ensemble.segment_size = args.segment.unwrap_or(ensemble.segment_size);
    let opened = with_devices(ensemble, &args.target)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let stopped = signals::stop_flag();
    let report = measure(args, &opened, &matrix, &stopped)?;
    match args.format {
        OutputFormat::Json => print_json(&report)?,
        OutputFormat::Text => print(&text(&report, &matrix))?,
    }
    if stopped.load(Ordering::Acquire) {
        bail!("stopped before its end: these are the figures so far");
    }
    refuse_flawed(&report.flawed, 0, args.samples)
}

fn measure(
    args: &BenchArgs,
    opened: &OpenedEnsemble,
    matrix: &Matrix,
    stopped: &Arc<AtomicBool>,
) -> Result<BenchReport> {
    let elastic = matches!(opened.ensemble.policy, PolicyKind::Elastic { .. });
    if !args.max_inf.is_empty() && !elastic {
        bail!("--max-inf bounds what is alive under elastic; add --policy elastic");
    }
    if opened.devices.all_simulated() && !args.real_time && !args.fake {
        return measure_simulated(args, opened, matrix, stopped);
    }
    live::measure(args, opened, matrix, stopped)
}

/// Measures in virtual time. One run is enough, since it repeats exactly.
fn measure_simulated(
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
