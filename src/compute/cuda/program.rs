//! A network on a GPU: its plan, its weights there, and what its lanes share.

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::result;

use crate::compute::ComputeError;
use crate::compute::gpu::{GpuPlan, LaneProgram, Precision, Program, WeightLayout};
use crate::device::cuda::{CudaGpu, gpu_error, opened};
use crate::device::gpu::{DeviceMemory, DeviceSlice, Gpu};
use crate::network::{Graph, Weights};

use super::choices::Choices;
use super::gemm::Blas;
use super::kernels::Kernels;
use super::lane::Lane;

/// What all networks on one GPU share.
pub(super) struct Library {
    pub kernels: Kernels,
    pub blas: Arc<Blas>,
    pub choices: Choices,
}

/// See the module's text.
pub(super) struct Network {
    pub gpu: Arc<CudaGpu>,
    pub library: Arc<Library>,
    pub plan: GpuPlan,
    pub arrays: WeightLayout,
    pub weights: Arc<dyn DeviceMemory>,
}

/// Lowers `graph` for `gpu` and copies its weights there.
///
/// # Errors
/// The GPU is not one of CUDA, cannot hold the weights, or refuses.
pub fn lower(
    gpu: &Arc<dyn Gpu>,
    graph: &Graph,
    weights: &Weights,
    precision: Precision,
) -> Result<Arc<dyn Program>, ComputeError> {
    let gpu = opened(gpu.info().index)?;
    let library = gpu.shared(|| Library::new(&gpu))?;
    let plan = GpuPlan::new(graph, precision);
    let arrays = WeightLayout::new(graph, &plan);
    let memory = gpu.allocate(arrays.bytes)?;
    upload(&gpu, &memory, &arrays.fill(graph, weights, &plan))?;
    Ok(Arc::new(SharedNetwork(Arc::new(Network {
        gpu,
        library,
        plan,
        arrays,
        weights: memory,
    }))))
}

impl Library {
    fn new(gpu: &CudaGpu) -> Result<Self, ComputeError> {
        Ok(Library {
            kernels: Kernels::load(gpu.context(), gpu.info().multiprocessors)?,
            blas: Arc::new(Blas::new()?),
            choices: Choices::default(),
        })
    }
}

/// Copies and waits: no stream may read weights before they are there.
fn upload(gpu: &CudaGpu, to: &Arc<dyn DeviceMemory>, bytes: &[u8]) -> Result<(), ComputeError> {
    if bytes.is_empty() {
        return Ok(());
    }
    gpu.context().bind_to_thread().map_err(gpu_error)?;
    // SAFETY: the memory has as many bytes, and nobody uses it yet.
    let copied = unsafe { result::memcpy_htod_sync(to.address(), bytes) };
    copied.map_err(gpu_error)?;
    // The copy may still be on its way from the driver's own staging memory.
    Ok(gpu.context().synchronize().map_err(gpu_error)?)
}

struct SharedNetwork(Arc<Network>);

impl Program for SharedNetwork {
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError> {
        Ok(Box::new(Lane::new(Arc::clone(&self.0), rows)?))
    }

    fn weight_bytes(&self) -> u64 {
        self.0.arrays.bytes as u64
    }
}

impl Network {
    /// The weights' memory.
    pub fn weights(&self) -> DeviceSlice {
        DeviceSlice::whole(Arc::clone(&self.weights))
    }
}
