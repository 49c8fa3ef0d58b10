//! Serves a setup in virtual time under a load, to predict its latency and the load of its devices
//! before anything is applied.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::load::LoadPattern;
use crate::simulation::{Incident, Scenario, Simulation, SimulationReport, Workload};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Demand;
use divisi_model::profile::Costs;
use divisi_runtime::device::{DeviceIndex, Devices};

use super::error::SearchError;
use super::virtual_bench::{LatencyRun, WARM_UP, backlog_grows, loaded};

/// The fewest measured requests of a closed loop.
const LEAST: usize = 200;
/// The most samples of a run of a closed loop.
const MOST_SAMPLES: usize = 1 << 18;
/// A run longer by this factor shows whether a backlog was due to chance.
const LONGER: usize = 4;

/// A setup with everything that its simulation needs.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// The models with the setup's policy and segment size, and their shares of the requests.
    pub demand: Demand,
    /// The devices.
    pub devices: Devices,
    /// The matrix.
    pub matrix: Matrix,
    /// The costs of its workers.
    pub costs: Arc<Costs>,
    /// The factor by which each device is slower than its costs.
    pub slowdown: Vec<f64>,
}

/// The figures of a setup under a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// The 99th percentile of latency, or `None` if the setup does not keep up with the load.
    pub p99: Option<Duration>,
    /// The samples answered per second.
    pub samples_per_s: f64,
    /// The share of the time in which each device is busy.
    pub busy: Vec<f64>,
}

impl Rehearsal {
    /// Serves `load` on devices that are slower by `slower`, in addition to their slowdown. Returns
    /// `None` if `stop` was set.
    ///
    /// # Errors
    /// A cost is unknown, or a request can never be served.
    pub fn serve(
        &self,
        load: &LoadPattern,
        slower: f64,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Rehearsed>, SearchError> {
        let requests = WARM_UP + LatencyRun::WHOLE.requests;
        let (report, keeps_up) = match load {
            LoadPattern::Closed { samples, .. } => {
                let samples = samples.count();
                let most = (MOST_SAMPLES / samples).max(WARM_UP + LEAST);
                let report = self.run(load, requests.min(most) * samples, slower, stop)?;
                (report, true)
            }
            _ => self.open_run(load, requests, slower, stop)?,
        };
        let stopped = stop.load(Ordering::Acquire);
        let keeps_up = keeps_up && report.served.len() > WARM_UP;
        Ok((!stopped).then(|| Rehearsed {
            p99: keeps_up.then(|| loaded(&report, 0.0).p99),
            samples_per_s: report.samples_per_s(),
            busy: report.busy,
        }))
    }

    /// Returns a run, and whether it keeps up with the load. A longer run decides if the backlog of
    /// a short one may be due to chance.
    fn open_run(
        &self,
        load: &LoadPattern,
        requests: usize,
        slower: f64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(SimulationReport, bool), SearchError> {
        let report = self.run(load, requests, slower, stop)?;
        if report.refused > 0 || !backlog_grows(&report) {
            let keeps_up = report.refused == 0;
            return Ok((report, keeps_up));
        }
        let report = self.run(load, requests * LONGER, slower, stop)?;
        let keeps_up = report.refused == 0 && !backlog_grows(&report);
        Ok((report, keeps_up))
    }

    fn run(
        &self,
        load: &LoadPattern,
        samples: usize,
        slower: f64,
        stop: &Arc<AtomicBool>,
    ) -> Result<SimulationReport, SearchError> {
        let workload = Workload::Pattern {
            pattern: load.clone(),
            samples,
            seed: LatencyRun::WHOLE.seed,
        };
        let mut simulation = Simulation::new(&self.scenario())?
            .with_requests()
            .until(Arc::clone(stop));
        for device in DeviceIndex::all(self.devices.count()) {
            let own = self.slowdown.get(device.get()).copied().unwrap_or(1.0);
            let slow = Incident::Slow(device, own * slower);
            simulation = simulation.with_incident(Duration::ZERO, slow);
        }
        Ok(simulation.run(workload)?)
    }

    fn scenario(&self) -> Scenario {
        Scenario {
            demand: self.demand.clone(),
            devices: self.devices.clone(),
            matrix: self.matrix.clone(),
            costs: Arc::clone(&self.costs),
            policy: self.demand.models().policy,
        }
    }
}
