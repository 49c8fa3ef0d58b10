//! Where predictors come from: lowered networks, or stand-ins.

use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use thiserror::Error;

use crate::compute::{ComputeError, CpuPredictor, FakePredictor, Lowered, Predictor};
use crate::ensemble::{BatchSize, Ensemble, Outputs};
use crate::lock::lock;
use crate::network::{GraphError, WeightsError};

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
}

/// The ensemble's own networks. A member is lowered once, at its first worker, and
/// shared by all.
pub struct NetworkFactory {
    ensemble: Arc<Ensemble>,
    lowered: Mutex<Vec<Option<Arc<Lowered>>>>,
}

impl NetworkFactory {
    /// For the members of `ensemble`.
    pub fn new(ensemble: Arc<Ensemble>) -> Self {
        NetworkFactory {
            lowered: Mutex::new(vec![None; ensemble.members.len()]),
            ensemble,
        }
    }

    fn lowered(&self, member: usize) -> Result<Arc<Lowered>, BuildError> {
        let mut all = lock(&self.lowered);
        if let Some(lowered) = &all[member] {
            return Ok(Arc::clone(lowered));
        }
        let network = &self.ensemble.members[member];
        network.weights.check()?;
        let lowered = match network.outputs {
            Outputs::Probabilities => Lowered::new(&network.graph, &network.weights),
            Outputs::Logits => Lowered::new(&network.graph.with_softmax()?, &network.weights),
        };
        // A file that was written to meanwhile gave neither the old weights nor the new.
        network.weights.check()?;
        network.weights.release();
        let lowered = Arc::new(lowered?);
        all[member] = Some(Arc::clone(&lowered));
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
