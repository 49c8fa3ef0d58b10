//! The work that a batch is queued as: launches, products and convolutions, in order; and the
//! memory that it uses.

use std::sync::Arc;

use candle_core::cuda_backend::cudarc::driver::CudaStream;

use crate::compute::ComputeError;
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::compute::gpu::{LaneLayout, Precision, StepArrays};
use crate::device::gpu::DeviceSlice;
use crate::network::Activation;

#[cfg(feature = "cudnn")]
use super::dnn::{Dnn, DnnConvolution};
use super::gemm::{Blas, Gemm};
use super::kernels::Launch;
use super::params::{TailParams, code};

/// One piece of work, ready to be queued again and again.
pub(super) enum QueuedWork {
    Kernel(Launch),
    Product(Gemm),
    #[cfg(feature = "cudnn")]
    Convolution(DnnConvolution),
}

/// The handles needed to queue work: the lane's own, except for the matrix library.
pub(super) struct Queue {
    pub stream: Arc<CudaStream>,
    pub blas: Arc<Blas>,
    #[cfg(feature = "cudnn")]
    pub dnn: Dnn,
    pub workspace: DeviceSlice,
}

impl Queue {
    /// Queues everything in order.
    pub(super) fn all(&self, works: &[QueuedWork]) -> Result<(), ComputeError> {
        works.iter().try_for_each(|work| match work {
            QueuedWork::Kernel(launch) => launch.queue(&self.stream),
            QueuedWork::Product(gemm) => gemm.queue(&self.blas, &self.stream, &self.workspace),
            #[cfg(feature = "cudnn")]
            QueuedWork::Convolution(conv) => conv.queue(&self.dnn, &self.workspace),
        })
    }
}

/// A lane's memory and the network's weights.
pub(super) struct LaneMemory {
    pub lane: DeviceSlice,
    pub layout: LaneLayout,
    pub weights: DeviceSlice,
    pub precision: Precision,
}

impl LaneMemory {
    /// Returns the address of a view's first value.
    pub(super) fn address(&self, view: &TensorView) -> u64 {
        self.place(view.place) + (view.first * self.precision.bytes()) as u64
    }

    /// Returns the address of a buffer.
    pub(super) fn place(&self, place: ValuePlace) -> u64 {
        let range = match place {
            ValuePlace::Slot(slot) => &self.layout.slots[slot],
            ValuePlace::Shared | ValuePlace::Input | ValuePlace::Nowhere => &self.layout.entry,
        };
        self.lane.address() + range.start as u64
    }

    /// Returns the address of one of the network's arrays, or 0 if it does not exist.
    pub(super) fn array(&self, offset: Option<usize>) -> u64 {
        offset.map_or(0, |offset| self.weights.address() + offset as u64)
    }

    /// Returns the scale, bias, sum and activation of a step's values.
    pub(super) fn tail(
        &self,
        arrays: &StepArrays,
        residual: Option<&TensorView>,
        activation: Option<Activation>,
    ) -> TailParams {
        let (activation, first, second) = code(activation);
        TailParams {
            scale: self.array(arrays.scale),
            bias: self.array(arrays.bias),
            residual: residual.map_or(0, |view| self.address(view)),
            residual_pitch: residual.map_or(0, |view| int(view.pitch)),
            activation,
            first,
            second,
        }
    }

    /// Returns a part of the lane's memory.
    pub(super) fn part(&self, range: &std::ops::Range<usize>) -> DeviceSlice {
        self.lane.part(range.start, range.len())
    }
}

/// Returns a size in the kernels' type. Sizes fit, since shapes are checked when a network is
/// built, and a lane's rows when it is.
pub(super) fn int(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
