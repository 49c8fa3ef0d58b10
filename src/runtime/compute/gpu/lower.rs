//! Lowers networks for GPUs; builds without support for GPUs say so.

use std::sync::Arc;

use crate::compute::ComputeError;
use crate::device::gpu::Gpu;
use crate::network::{Graph, Weights};

use super::program::{Precision, Program};

/// Lowers `graph` for `gpu` and copies its weights there.
///
/// # Errors
/// The GPU cannot hold the weights, or refuses.
#[cfg(feature = "cuda")]
pub fn lower(
    gpu: &Arc<dyn Gpu>,
    graph: &Graph,
    weights: &Weights,
    precision: Precision,
) -> Result<Arc<dyn Program>, ComputeError> {
    super::plan::check(graph, precision)?;
    crate::compute::cuda::lower(gpu, graph, weights, precision)
}

/// Lowers `graph` for `gpu` and copies its weights there.
///
/// # Errors
/// This build has no support for GPUs.
#[cfg(not(feature = "cuda"))]
pub fn lower(
    _: &Arc<dyn Gpu>,
    graph: &Graph,
    _: &Weights,
    precision: Precision,
) -> Result<Arc<dyn Program>, ComputeError> {
    super::plan::check(graph, precision)?;
    Err(ComputeError::Gpu(crate::device::gpu::GpuError::NotBuilt))
}
