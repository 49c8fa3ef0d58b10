//! One lane of a program with what it needs at both ends: memory on the GPU for samples
//! that are not there yet, page-locked memory for its answers.
//!
//! Answers return on the lane's own stream. On a stream for all lanes, those of a batch
//! that is done would wait behind those of one that is not; the copy engine is the same.

use std::sync::Arc;

use crate::compute::ComputeError;
use crate::compute::gpu::{LaneProgram, Program};
use crate::device::gpu::{DeviceSlice, Event, Gpu, HostSlice, PinnedBlock};

/// Places in the lane's stream: before and after computing, and once the answers are in
/// host memory.
#[derive(Debug)]
pub(super) struct Marks {
    pub begun: Arc<dyn Event>,
    pub computed: Arc<dyn Event>,
    pub returned: Arc<dyn Event>,
}

/// See the module's text.
pub(super) struct LaneBuffers {
    gpu: Arc<dyn Gpu>,
    lane: Box<dyn LaneProgram>,
    rows: usize,
    inputs: usize,
    outputs: usize,
    staging: Option<DeviceSlice>,
    answers: PinnedBlock,
}

const FLOAT: usize = size_of::<f32>();

impl LaneBuffers {
    /// A lane for batches of up to `rows`.
    ///
    /// # Errors
    /// The GPU, or the host's memory that can be locked, cannot hold it.
    pub fn new(
        gpu: &Arc<dyn Gpu>,
        program: &dyn Program,
        rows: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, ComputeError> {
        Ok(LaneBuffers {
            lane: program.lane(rows)?,
            answers: gpu.pinned(rows * outputs)?,
            gpu: Arc::clone(gpu),
            rows,
            inputs,
            outputs,
            staging: None,
        })
    }

    /// Values of a sample.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Queues the copy of whole samples from `from` to row `row` of the lane's own memory,
    /// which is taken when it is first needed; gives where they will lie.
    ///
    /// # Errors
    /// There is no room, or the driver refuses.
    pub fn copy_in(&mut self, from: &HostSlice, row: usize) -> Result<DeviceSlice, ComputeError> {
        let most = self.rows * self.inputs * FLOAT;
        let at = row * self.inputs * FLOAT;
        if at + from.bytes() > most {
            return Err(ComputeError::BatchTooLarge {
                found: row + from.floats() / self.inputs,
                most: self.rows,
            });
        }
        let staging = match &self.staging {
            Some(staging) => staging,
            None => {
                let memory = self.gpu.allocate(most)?;
                self.staging.insert(DeviceSlice::whole(memory))
            }
        };
        let to = staging.part(at, from.bytes());
        self.lane.stream().copy_in(from, &to)?;
        Ok(to)
    }

    /// Queues a batch of `rows` rows over `samples`, and the way back of the first
    /// `answered` answers.
    ///
    /// # Errors
    /// The batch is larger than the lane, or the driver refuses.
    pub fn launch(
        &mut self,
        rows: usize,
        answered: usize,
        samples: &[DeviceSlice],
    ) -> Result<Marks, ComputeError> {
        let begun = self.lane.stream().record()?;
        self.lane.launch(rows, samples)?;
        let computed = self.lane.stream().record()?;
        let answers = self.lane.answers(rows);
        let floats = answered * self.outputs;
        let (from, to) = (
            answers.part(0, floats * FLOAT),
            self.answers.slice(0, floats),
        );
        self.lane.stream().copy_out(&from, &to)?;
        Ok(Marks {
            begun,
            computed,
            returned: self.lane.stream().record()?,
        })
    }

    /// Waits for all that was queued.
    ///
    /// # Errors
    /// Something of it failed.
    pub fn settle(&self) -> Result<(), ComputeError> {
        Ok(self.lane.stream().synchronize()?)
    }

    /// The first `answered` answers of the batch that was waited for.
    pub fn answers(&self, answered: usize) -> &[f32] {
        &self.answers.values()[..answered * self.outputs]
    }
}
