//! Evaluator `bench` where no device is real: the matrix serves in virtual time.

use std::sync::Arc;
use std::time::Duration;

use crate::allocation::{Footprints, Matrix};
use crate::device::Devices;
use crate::ensemble::Ensemble;
use crate::load::LoadPattern;
use crate::profile::Costs;
use crate::simulation::{Report, Scene, SimulationError, Workload, simulate};

use super::evaluator::{Evaluator, Score, SearchError};
use super::goal::LoadedLatency;

/// Samples of a run: the paper measures over 1 024 (section IV.A).
const SAMPLES: usize = 1024;
/// Requests that a latency is taken from, so that 20 of them lie beyond its p99, …
const REQUESTS: usize = 2000;
/// … after so many that fill what was idle at first.
const WARM_UP: usize = 200;
/// Arrivals are drawn from this, for every matrix the same.
const SEED: u64 = 1;

/// Runs matrices in virtual time: exact, so that a score has no error.
#[derive(Clone)]
pub struct VirtualBench {
    ensemble: Arc<Ensemble>,
    devices: Devices,
    footprints: Footprints,
    costs: Arc<Costs>,
}

impl VirtualBench {
    /// Serves by `costs`; matrices have to fit on `devices`.
    pub fn new(
        ensemble: Arc<Ensemble>,
        devices: Devices,
        footprints: Footprints,
        costs: Arc<Costs>,
    ) -> Self {
        VirtualBench {
            ensemble,
            devices,
            footprints,
            costs,
        }
    }

    /// Latencies of `matrix` under `rate` requests a second; none where it does not
    /// fit or does not keep up.
    ///
    /// # Errors
    /// The simulation broke down.
    pub fn latency(
        &self,
        matrix: &Matrix,
        rate: f64,
    ) -> Result<Option<LoadedLatency>, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(None);
        }
        let workload = Workload::Pattern {
            pattern: LoadPattern::Poisson { rate },
            samples: WARM_UP + REQUESTS,
            seed: SEED,
        };
        let report = self.run(matrix, workload)?;
        Ok((report.refused == 0).then(|| loaded(&report, rate)))
    }

    fn run(&self, matrix: &Matrix, workload: Workload) -> Result<Report, SearchError> {
        let scene = Scene {
            ensemble: Arc::clone(&self.ensemble),
            devices: self.devices.clone(),
            matrix: matrix.clone(),
            costs: Arc::clone(&self.costs),
            policy: self.ensemble.policy,
        };
        simulate(&scene, workload).map_err(broken)
    }
}

fn broken(error: SimulationError) -> SearchError {
    SearchError::Evaluation(error.to_string())
}

/// Percentiles of the requests after the first ones.
fn loaded(report: &Report, rate: f64) -> LoadedLatency {
    let warm = report.served.get(WARM_UP..).unwrap_or_default();
    let mut latencies: Vec<Duration> = warm.iter().map(|s| s.latency).collect();
    latencies.sort_unstable();
    let at = |share: f64| {
        let rank = (share * latencies.len() as f64).ceil() as usize;
        latencies.get(rank.saturating_sub(1)).copied()
    };
    LoadedLatency {
        rate,
        p50: at(0.5).unwrap_or_default(),
        p99: at(0.99).unwrap_or_default(),
    }
}

impl Evaluator for VirtualBench {
    fn name(&self) -> &'static str {
        "bench, simulated"
    }

    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        if self.footprints.book(matrix, &self.devices).is_err() {
            return Ok(Score::NONE);
        }
        let report = self.run(matrix, Workload::Saturate { samples: SAMPLES })?;
        Ok(Score {
            samples_per_s: report.samples_per_s(),
            error: 0.0,
        })
    }
}
