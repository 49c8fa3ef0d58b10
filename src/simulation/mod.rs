//! Serving in virtual time: the state machines that threads drive live, driven here
//! by a discrete-event loop. A run repeats to the byte, and an hour takes seconds.

mod arriving;
mod incidents;
mod run;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::allocation::Matrix;
use crate::device::Devices;
use crate::ensemble::{Ensemble, PolicyKind};
use crate::load::{LoadError, LoadPattern};
use crate::metrics::{LatencySplit, LatencySummary, SplitMeans};
use crate::profile::Costs;
use crate::trace::Span;

pub use incidents::Incident;
pub use run::Simulation;

/// What serves.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub ensemble: Arc<Ensemble>,
    pub devices: Devices,
    pub matrix: Matrix,
    /// Of every member on every device that has a worker of it.
    pub costs: Arc<Costs>,
    pub policy: PolicyKind,
}

/// What is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// So many samples as fast as they are served, as benchmark mode sends them.
    Saturate { samples: usize },
    /// So many samples by a pattern of arrivals.
    Pattern {
        pattern: LoadPattern,
        samples: usize,
        seed: u64,
    },
}

/// Why a run gave no figures.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SimulationError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("a request of {samples} samples is larger than the pool of {most}")]
    TooLarge { samples: usize, most: usize },
    #[error("what `{member}` costs on `{device}` is not known: it was never measured")]
    Unknown { member: String, device: String },
    #[error("at {at:?} {left} requests wait and nothing can serve them")]
    Stuck { at: Duration, left: usize },
    #[error("{0}")]
    Policy(String),
}

/// One answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it was answered.
    pub at: Duration,
    pub samples: usize,
    pub latency: Duration,
    pub split: LatencySplit,
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationReport {
    /// Samples answered.
    pub samples: usize,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    pub latency: LatencySummary,
    /// Mean microseconds of a request.
    pub split: SplitMeans,
    pub refused: u64,
    /// Requests that failed, by an incident.
    pub failed: u64,
    /// Share of the run that each device was occupied.
    pub busy: Vec<f64>,
    /// Every request, in order of its answer, where they were to be kept.
    pub served: Vec<Served>,
    /// What every lane and copy engine did, in order of its end, where that was to be
    /// kept.
    pub spans: Vec<Span>,
}

impl SimulationReport {
    /// Samples answered a second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Busy seconds as shares of the run.
    fn with_shares(mut self) -> Self {
        let elapsed = self.elapsed.as_secs_f64().max(1e-9);
        for busy in &mut self.busy {
            *busy = (*busy / elapsed).min(1.0);
        }
        self
    }
}

/// Runs a scene under a workload.
///
/// # Errors
/// Costs are missing, the policy does not suit the batch sizes, or a request can
/// never be served.
pub fn simulate(scene: &Scenario, workload: Workload) -> Result<SimulationReport, SimulationError> {
    Simulation::new(scene)?.run(workload)
}
