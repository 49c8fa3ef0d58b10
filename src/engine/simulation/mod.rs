//! Serving in virtual time: a discrete-event loop drives the state machines that threads drive
//! live. Runs repeat exactly, and an hour takes seconds.

mod arriving;
mod incidents;
mod run;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::load::{LoadError, LoadPattern};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{PolicyError, PolicyKind};
use divisi_model::metrics::{LatencySplit, LatencySummary, SplitMeans};
use divisi_model::profile::Costs;
use divisi_model::trace::Span;
use divisi_runtime::device::Devices;

pub use incidents::Incident;
pub use run::Simulation;

/// The models, devices and setup of a simulation.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The ensemble, or several with their shares of the requests.
    pub demand: Demand,
    /// The devices.
    pub devices: Devices,
    /// The matrix.
    pub matrix: Matrix,
    /// The costs of every worker in the matrix.
    pub costs: Arc<Costs>,
    /// The batching policy.
    pub policy: PolicyKind,
}

/// The requests of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Samples as fast as they are served, like in benchmark mode.
    Saturate {
        /// The number of samples.
        samples: usize,
    },
    /// Samples by a pattern of arrivals.
    Pattern {
        /// The pattern.
        pattern: LoadPattern,
        /// The number of samples.
        samples: usize,
        /// The seed of random arrivals.
        seed: u64,
    },
}

/// The reason why a run failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SimulationError {
    /// A recording of arrivals cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A request is larger than the pool.
    #[error("a request of {samples} samples is larger than the pool of {most}")]
    TooLarge {
        /// Samples of the request.
        samples: usize,
        /// The capacity of the pool in samples.
        most: usize,
    },
    /// The costs of a worker are unknown.
    #[error("the cost of `{member}` on `{device}` is unknown: it was never measured")]
    Unknown {
        /// The member's name.
        member: String,
        /// The device's name.
        device: String,
    },
    /// Requests are waiting, and no worker can serve them.
    #[error("at {at:?}, {left} requests are waiting and no worker can serve them")]
    Stuck {
        /// The time.
        at: Duration,
        /// The number of requests.
        left: usize,
    },
    /// The policy does not match the batch sizes.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// One answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The requested entry of the catalogue.
    pub entry: usize,
    /// The time of its answer.
    pub at: Duration,
    /// The number of its samples.
    pub samples: usize,
    /// Its latency.
    pub latency: Duration,
    /// The parts of its latency.
    pub split: LatencySplit,
}

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationReport {
    /// Samples answered.
    pub samples: usize,
    /// The time from the first request to the last answer.
    pub elapsed: Duration,
    /// The percentiles of latencies.
    pub latency: LatencySummary,
    /// The parts of the mean latency.
    pub split: SplitMeans,
    /// Requests refused.
    pub refused: u64,
    /// Requests that failed because of an incident.
    pub failed: u64,
    /// The share of the run in which each device was occupied.
    pub busy: Vec<f64>,
    /// Every request in the order of the answers, if requests are kept.
    pub served: Vec<Served>,
    /// The spans of every lane and copy engine in the order of their ends, if spans are kept.
    pub spans: Vec<Span>,
}

impl SimulationReport {
    /// Returns the samples answered per second.
    pub fn samples_per_s(&self) -> f64 {
        self.samples as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Converts busy seconds to shares of the run.
    fn with_shares(mut self) -> Self {
        let elapsed = self.elapsed.as_secs_f64().max(1e-9);
        for busy in &mut self.busy {
            *busy = (*busy / elapsed).min(1.0);
        }
        self
    }
}

/// Runs a scenario under a workload.
///
/// # Errors
/// Costs are missing, the policy does not match the batch sizes, or a request can never be served.
pub fn simulate(scene: &Scenario, workload: Workload) -> Result<SimulationReport, SimulationError> {
    Simulation::new(scene)?.run(workload)
}
