//! Serving in virtual time: the state machines that threads drive live, driven here
//! by a discrete-event loop. A run repeats to the byte, and an hour takes seconds.

mod arriving;
mod incidents;
mod report;
mod run;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::allocation::Matrix;
use crate::device::Devices;
use crate::ensemble::{Ensemble, PolicyKind};
use crate::load::{LoadError, LoadPattern};
use crate::profile::Costs;

pub use report::{Report, Served};
pub use run::Simulation;

/// What serves.
#[derive(Clone, Debug)]
pub struct Scene {
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

/// Something that befalls a device in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incident {
    /// It disappears.
    Lose(usize),
    /// It is there again, with the workers that the matrix gives it.
    Regain(usize),
    /// The next batch that ends there panics: its requests fail, and its worker is built
    /// again at once unless it panics too often.
    Panic(usize),
    /// Its operations take so many times as long from now on.
    Slow(usize, f64),
    /// Another policy.
    Policy(PolicyKind),
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

/// Runs a scene under a workload.
///
/// # Errors
/// Costs are missing, the policy does not suit the batch sizes, or a request can
/// never be served.
pub fn simulate(scene: &Scene, workload: Workload) -> Result<Report, SimulationError> {
    Simulation::new(scene)?.run(workload)
}
