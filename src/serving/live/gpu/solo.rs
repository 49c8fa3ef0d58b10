//! A lane without an engine around it, to be measured: samples in, computed, answers out,
//! one after another, as policies do that copy nothing ahead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::compute::ComputeError;
use crate::compute::gpu::Program;
use crate::device::gpu::{Gpu, PinnedBlock};

use super::stage::LaneBuffers;

/// See the module's text.
pub struct GpuRunner {
    stage: LaneBuffers,
    samples: PinnedBlock,
}

impl GpuRunner {
    /// A lane for batches of up to `rows` samples of `inputs` values.
    ///
    /// # Errors
    /// The GPU cannot hold it.
    pub fn new(
        gpu: &Arc<dyn Gpu>,
        program: &dyn Program,
        rows: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, ComputeError> {
        Ok(GpuRunner {
            stage: LaneBuffers::new(gpu, program, rows, inputs, outputs)?,
            samples: gpu.pinned(rows * inputs)?,
        })
    }

    /// The samples that batches are of, to be written.
    pub fn samples(&mut self) -> &mut [f32] {
        self.samples.values_mut()
    }

    /// Runs a batch of the first `rows` samples; gives how long it took, copies included.
    ///
    /// # Errors
    /// The batch is larger than the lane, or the driver refuses.
    pub fn run(&mut self, rows: usize) -> Result<Duration, ComputeError> {
        let start = Instant::now();
        let from = self.samples.slice(0, rows * self.stage.inputs());
        let samples = self.stage.copy_in(&from, 0)?;
        let marks = self.stage.launch(rows, rows, &[samples])?;
        marks.returned.wait()?;
        Ok(start.elapsed())
    }

    /// The answers to the first `rows` samples of the latest batch.
    pub fn answers(&self, rows: usize) -> &[f32] {
        self.stage.answers(rows)
    }
}
