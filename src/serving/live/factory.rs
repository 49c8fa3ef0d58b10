//! Where predictors come from: lowered networks, or stand-ins.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

use rayon::ThreadPool;
use thiserror::Error;

use crate::compute::gpu::Program;
use crate::compute::{ComputeError, CpuPredictor, FakePredictor, Lowered, Predictor};
use crate::device::gpu::{self, Gpu, GpuInfo};
use crate::ensemble::{BatchSize, Ensemble, OutputKind};
use crate::lock::lock;
use crate::network::{GraphError, WeightsError};

use super::gpu::{Programs, lower_for_gpu};

/// Why a worker could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    #[error(transparent)]
    Compute(#[from] ComputeError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("{0}")]
    Other(String),
}

/// Builds the predictor of one worker. Predictors give probabilities.
pub trait PredictorFactory: Send + Sync {
    /// A predictor of `member` for batches of up to `size`; `pool` has the device's
    /// threads where it has several.
    ///
    /// # Errors
    /// The device cannot hold it.
    fn build(
        &self,
        member: usize,
        size: BatchSize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError>;

    /// What the workers of `member` share in host memory, if there is any: it stays as
    /// long as somebody holds this.
    fn hold(&self, member: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        let _ = member;
        None
    }

    /// Opens a GPU.
    ///
    /// # Errors
    /// It cannot be used.
    fn gpu(&self, info: &GpuInfo) -> Result<Arc<dyn Gpu>, BuildError> {
        Ok(gpu::open(info.index).map_err(ComputeError::Gpu)?)
    }

    /// The network of `member` on a GPU, with its weights: the same one for all who hold
    /// it.
    ///
    /// # Errors
    /// The GPU cannot hold it.
    fn program(&self, member: usize, gpu: &Arc<dyn Gpu>) -> Result<Arc<dyn Program>, BuildError> {
        let name = &gpu.info().name;
        Err(BuildError::Other(format!(
            "there is nothing to run for member {member} on {name}"
        )))
    }
}

/// The ensemble's own networks. A member is lowered once, at its first worker, and
/// shared by all until its last one leaves: in host memory, and on each GPU.
pub struct NetworkFactory {
    ensemble: Arc<Ensemble>,
    lowered: Mutex<Vec<Weak<Lowered>>>,
    programs: Programs,
}

impl NetworkFactory {
    /// For the members of `ensemble`.
    pub fn new(ensemble: Arc<Ensemble>) -> Self {
        NetworkFactory {
            lowered: Mutex::new(ensemble.members.iter().map(|_| Weak::new()).collect()),
            ensemble,
            programs: Programs::default(),
        }
    }

    fn lowered(&self, member: usize) -> Result<Arc<Lowered>, BuildError> {
        let mut all = lock(&self.lowered);
        if let Some(lowered) = all[member].upgrade() {
            return Ok(lowered);
        }
        let network = &self.ensemble.members[member];
        network.weights.check()?;
        let lowered = match network.outputs {
            OutputKind::Probabilities | OutputKind::Values => {
                Lowered::new(&network.graph, &network.weights)
            }
            OutputKind::Logits => Lowered::new(&network.graph.with_softmax()?, &network.weights),
        };
        // A file that was written to meanwhile gave neither the old weights nor the new.
        network.weights.check()?;
        network.weights.release();
        let lowered = Arc::new(lowered?);
        all[member] = Arc::downgrade(&lowered);
        Ok(lowered)
    }
}

impl PredictorFactory for NetworkFactory {
    fn build(
        &self,
        member: usize,
        size: BatchSize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        let lowered = self.lowered(member)?;
        Ok(Box::new(CpuPredictor::new(lowered, size.get(), pool)?))
    }

    fn hold(&self, member: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        let lowered = lock(&self.lowered)[member].upgrade()?;
        Some(lowered)
    }

    fn program(&self, member: usize, gpu: &Arc<dyn Gpu>) -> Result<Arc<dyn Program>, BuildError> {
        let (members, precision) = (&self.ensemble.members, self.ensemble.precision);
        let lower = || lower_for_gpu(&members[member], precision, gpu);
        self.programs.get(member, gpu, lower)
    }
}

/// A constant known per member in place of each network.
pub struct FakeFactory {
    /// Classes of an answer.
    pub classes: usize,
}

impl PredictorFactory for FakeFactory {
    fn build(
        &self,
        member: usize,
        _size: BatchSize,
        _pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        Ok(Box::new(FakePredictor::new(member, self.classes)))
    }
}
