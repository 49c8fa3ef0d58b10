//! What a batch is queued as: launches, products, convolutions, in order.

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::CudaStream;

use crate::compute::ComputeError;
use crate::device::gpu::DeviceSlice;

#[cfg(feature = "cudnn")]
use super::dnn::{Convolution, Dnn};
use super::gemm::{Blas, Gemm};
use super::kernels::Launch;

/// One thing that is queued, ready to be queued again and again.
pub(super) enum Work {
    Kernel(Launch),
    Product(Gemm),
    #[cfg(feature = "cudnn")]
    Convolution(Convolution),
}

/// What queuing needs: a lane's own, but for the matrix library.
pub(super) struct Queue {
    pub stream: Arc<CudaStream>,
    pub blas: Arc<Blas>,
    #[cfg(feature = "cudnn")]
    pub dnn: Dnn,
    pub workspace: DeviceSlice,
}

impl Queue {
    /// Queues everything in order.
    pub fn all(&self, works: &[Work]) -> Result<(), ComputeError> {
        works.iter().try_for_each(|work| match work {
            Work::Kernel(launch) => launch.queue(&self.stream),
            Work::Product(gemm) => gemm.queue(&self.blas, &self.stream, &self.workspace),
            #[cfg(feature = "cudnn")]
            Work::Convolution(conv) => conv.queue(&self.dnn, &self.workspace),
        })
    }
}
