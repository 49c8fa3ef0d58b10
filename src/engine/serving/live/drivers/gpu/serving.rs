//! An open GPU together with its host, for its threads.

use std::sync::Arc;

use crate::serving::batch::Slice;
use divisi_runtime::compute::ComputeError;
use divisi_runtime::device::gpu::{GpuError, HostSlice, PinnedBlock};

use super::super::super::factory::BuildError;
use super::super::super::request::{LiveBatch, RequestData};
use super::super::driver::{BatchError, DriverHost, LossCause};
use super::context::GpuContext;
use super::slot::GpuSlot;

/// An open GPU together with its host.
#[derive(Clone)]
pub(super) struct ServingGpu {
    pub slot: Arc<GpuSlot>,
    pub context: Arc<GpuContext>,
    pub host: Arc<dyn DriverHost>,
}

impl ServingGpu {
    /// Handles a failure of the GPU. Does nothing if it is already lost.
    pub(super) fn lose(&self, reason: &GpuError) {
        if self.host.is_stopping() || !self.context.lose(reason.clone()) {
            return;
        }
        self.close_as(LossCause::Failed(reason.clone().into()), reason);
    }

    /// Removes the working GPU from its users.
    pub(super) fn take_away(&self) {
        let reason = GpuError::Lost("it was taken away".into());
        if self.context.lose(reason.clone()) {
            self.close_as(LossCause::TakenAway(Some(reason.clone().into())), &reason);
        }
    }

    fn close_as(&self, cause: LossCause, reason: &GpuError) {
        let close = &mut || self.slot.close(&self.context, reason);
        self.host.lost(self.slot.device, cause, close);
    }

    /// Hands a failed batch to the dispatcher, which decides the fate of its worker.
    pub(super) fn fail(&self, batch: LiveBatch, why: BatchError) {
        self.context.add_failed(batch, why);
        self.slot.waker.wake();
    }

    /// Returns samples of a request's pool in memory that a copy engine can read: in place, or
    /// copied if the pool's memory could not be page-locked.
    ///
    /// # Errors
    /// No memory could be page-locked for the copy either.
    pub(super) fn host_slice(
        &self,
        request: &RequestData,
        slice: Slice,
        transform: usize,
    ) -> Result<HostSlice, GpuError> {
        let storage = &request.served.storage;
        if let Some(there) = storage.host_slice(slice, transform) {
            return Ok(there);
        }
        let floats = slice.len * storage.width(transform);
        let mut block: PinnedBlock = self.context.gpu.pinned(floats)?;
        storage.read_as(slice, transform, block.values_mut());
        Ok(block.slice(0, floats))
    }
}

impl ServingGpu {
    /// Returns results of a request's steps, gathered for a plane, in memory that a copy engine can
    /// read.
    ///
    /// # Errors
    /// No memory could be page-locked.
    pub(super) fn gathered(
        &self,
        request: &RequestData,
        part: usize,
        first: usize,
        len: usize,
        plane: usize,
    ) -> Result<HostSlice, GpuError> {
        let floats = len * request.gathered_width(plane);
        let mut block: PinnedBlock = self.context.gpu.pinned(floats)?;
        request.gather(part, first, plane, block.values_mut());
        Ok(block.slice(0, floats))
    }
}

/// Returns the reason of a GPU's loss if `error` contains one.
pub(super) fn loss_in(error: &ComputeError) -> Option<&GpuError> {
    match error {
        ComputeError::Gpu(reason) if reason.is_lost() => Some(reason),
        _ => None,
    }
}

/// Returns the reason of a GPU's loss if the error of a worker's build contains one.
pub(super) fn loss_in_build(error: &BuildError) -> Option<&GpuError> {
    match error {
        BuildError::Compute(error) => loss_in(error),
        _ => None,
    }
}
