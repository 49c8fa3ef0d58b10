//! A whole lowered network as one Candle operation.
//!
//! Candle's storage cannot be taken back from a tensor, so a worker keeps its two tensors and
//! writes into them.

use std::sync::{Arc, Mutex};

use candle_core::{CpuStorage, CustomOp1, InplaceOp2, Layout, Shape};
use rayon::ThreadPool;

use crate::lock::lock;

use super::arena::Arena;
use super::error::ComputeError;
use super::lowered::Lowered;
use super::rows::{contiguous, contiguous_mut};

/// One network with an arena. Give it to `Tensor::inplace_op2` (answers into a tensor
/// that exists) or `Tensor::apply_op1_no_bwd` (a fresh one).
///
/// The threads of its pool work on each batch together; without a pool it runs on the
/// caller's thread. Rayon's global pool is never used.
pub struct NetworkOp {
    network: Arc<Lowered>,
    // An operation is shared by reference in Candle; nobody ever waits here, since
    // a worker runs one batch at a time.
    arena: Mutex<Arena>,
    pool: Option<Arc<ThreadPool>>,
}

impl NetworkOp {
    /// Memory for batches of up to `batch`.
    ///
    /// # Errors
    /// [`ComputeError::OutOfMemory`].
    pub fn new(
        network: Arc<Lowered>,
        batch: usize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Self, ComputeError> {
        let threads = pool.as_ref().map_or(1, |p| p.current_num_threads()).max(1);
        Ok(NetworkOp {
            arena: Mutex::new(Arena::new(&network, batch, threads)?),
            network,
            pool,
        })
    }

    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<(), ComputeError> {
        let batch = input.len() / self.network.inputs().max(1);
        let pool = self.pool.as_deref();
        lock(&self.arena).run(&self.network, pool, batch, input, output)
    }
}

impl InplaceOp2 for NetworkOp {
    fn name(&self) -> &'static str {
        "divisi-network"
    }

    fn cpu_fwd(
        &self,
        output: &mut CpuStorage,
        output_layout: &Layout,
        input: &CpuStorage,
        input_layout: &Layout,
    ) -> candle_core::Result<()> {
        let input = contiguous(input.as_slice::<f32>()?, input_layout)?;
        let output = contiguous_mut(output, output_layout)?;
        self.run(input, output).map_err(candle_core::Error::wrap)
    }
}

impl CustomOp1 for NetworkOp {
    fn name(&self) -> &'static str {
        "divisi-network"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let input = contiguous(storage.as_slice::<f32>()?, layout)?;
        let batch = input.len() / self.network.inputs().max(1);
        let mut output = vec![0.0; batch * self.network.outputs()];
        self.run(input, &mut output)
            .map_err(candle_core::Error::wrap)?;
        Ok((
            CpuStorage::F32(output),
            Shape::from((batch, self.network.outputs())),
        ))
    }
}
