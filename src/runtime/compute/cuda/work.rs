//! What a batch is queued as: launches, products, convolutions, in order.

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::CudaStream;

use crate::compute::ComputeError;
use crate::device::gpu::DeviceSlice;

#[cfg(feature = "cudnn")]
use super::dnn::{Dnn, DnnConvolution};
use super::gemm::{Blas, Gemm};
use super::kernels::Launch;

/// One thing that is queued, ready to be queued again and again.
pub(super) enum QueuedWork {
    Kernel(Launch),
    Product(Gemm),
    #[cfg(feature = "cudnn")]
    Convolution(DnnConvolution),
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
    pub fn all(&self, works: &[QueuedWork]) -> Result<(), ComputeError> {
        works.iter().try_for_each(|work| match work {
            QueuedWork::Kernel(launch) => launch.queue(&self.stream),
            QueuedWork::Product(gemm) => gemm.queue(&self.blas, &self.stream, &self.workspace),
            #[cfg(feature = "cudnn")]
            QueuedWork::Convolution(conv) => conv.queue(&self.dnn, &self.workspace),
        })
    }
}
