//! The predictor: what a worker holds to answer batches on its device.

use std::sync::Arc;

use candle_core::Tensor;
use rayon::ThreadPool;

use super::error::ComputeError;
use super::lowered::Lowered;
use super::op::NetworkOp;

/// Answers batches. Candle tensors in, Candle tensors out, nothing allocated between.
pub trait Predictor: Send {
    /// Answers the first `batch` rows of `input` (`[rows, inputs]`) into the first
    /// rows of `output` (`[rows, outputs]`).
    ///
    /// # Errors
    /// The batch does not fit, or a tensor operation fails.
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError>;
}

/// A lowered network on a CPU partition, with its own arena a thread.
pub struct CpuPredictor {
    op: NetworkOp,
}

impl CpuPredictor {
    /// Memory for batches of up to `batch` on the partition's threads.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<Lowered>,
        batch: usize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Self, ComputeError> {
        Ok(CpuPredictor {
            op: NetworkOp::new(network, batch, pool)?,
        })
    }
}

impl Predictor for CpuPredictor {
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError> {
        let (input, output) = (input.narrow(0, 0, batch)?, output.narrow(0, 0, batch)?);
        output.inplace_op2(&input, &self.op)?;
        Ok(())
    }
}
