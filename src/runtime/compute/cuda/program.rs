//! Lowers networks for a GPU and copies their weights there.

use std::sync::Arc;

use crate::compute::ComputeError;
use crate::compute::gpu::{GpuPlan, LaneProgram, Precision, Program, WeightLayout};
use crate::device::cuda::{CudaGpu, opened};
use crate::device::gpu::{DeviceMemory, DeviceSlice, Gpu};
use crate::network::{Graph, Weights};

use super::lane::{CudaLane, CudaNetwork, Library};

/// Lowers `graph` for `gpu` and copies its weights there.
///
/// # Errors
/// The GPU is not a CUDA GPU, cannot hold the weights, or the driver reports an error.
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
    Ok(Arc::new(SharedNetwork(Arc::new(CudaNetwork {
        gpu,
        library,
        plan,
        arrays,
        weights: memory,
    }))))
}

/// Floats of page-locked memory that weights go through.
const STAGED: usize = 4 << 20;

/// Copies bytes to the GPU and waits, because no stream may read weights before they arrive. The
/// copy has its own stream: waiting for the whole GPU would wait for all its streams, and is not
/// allowed while another lane is captured.
fn upload(gpu: &CudaGpu, to: &Arc<dyn DeviceMemory>, bytes: &[u8]) -> Result<(), ComputeError> {
    let stream = gpu.stream()?;
    let mut block = gpu.pinned(STAGED.min(bytes.len().div_ceil(FLOAT)))?;
    let whole = DeviceSlice::whole(Arc::clone(to));
    for (at, bytes) in bytes.chunks(STAGED * FLOAT).enumerate() {
        // Arrays are padded to whole floats.
        let floats = bytes.len() / FLOAT;
        let staged = bytemuck::cast_slice_mut::<f32, u8>(&mut block.values_mut()[..floats]);
        staged.copy_from_slice(bytes);
        let part = whole.part(at * STAGED * FLOAT, bytes.len());
        stream.copy_in(&block.slice(0, floats), &part)?;
        stream.synchronize()?;
    }
    Ok(())
}

const FLOAT: usize = size_of::<f32>();

struct SharedNetwork(Arc<CudaNetwork>);

impl Program for SharedNetwork {
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError> {
        Ok(Box::new(CudaLane::new(Arc::clone(&self.0), rows)?))
    }

    fn weight_bytes(&self) -> u64 {
        self.0.arrays.bytes as u64
    }
}
