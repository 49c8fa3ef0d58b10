//! A network lowered for a GPU, as serving uses it.

use std::sync::Arc;

use crate::compute::ComputeError;
use crate::device::gpu::{DeviceSlice, Stream};

/// A member's network on one GPU: its weights are there once, whatever the number of
/// workers and lanes.
pub trait Program: Send + Sync {
    /// A lane for batches of up to `rows`: its own stream, its own memory.
    ///
    /// # Errors
    /// The GPU cannot hold it.
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError>;

    /// Bytes of the weights on the GPU.
    fn weight_bytes(&self) -> u64;
}

/// One lane: runs one batch at a time, in the order of its stream.
pub trait LaneProgram: Send {
    /// The stream that batches run on.
    fn stream(&self) -> &Arc<dyn Stream>;

    /// Queues a batch of `rows` rows. `samples` are whole samples of float32 as the
    /// network takes them, in order, read where they lie; rows beyond them (padding)
    /// repeat the last one. The slices must live until the batch is done.
    ///
    /// # Errors
    /// The batch is larger than the lane, there is no sample, or the driver refuses.
    fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError>;

    /// Where the answers of the latest batch lie once it is done: `[rows, outputs]` of
    /// float32.
    fn answers(&self, rows: usize) -> DeviceSlice;
}
