//! One lane of a program with its memory at both ends: GPU memory for samples that are not there
//! yet, and page-locked memory for its answers. Also a lane without an engine, and the computing
//! time of overlapping lanes.
//!
//! Answers return on the lane's own stream. On a common stream, the answers of a finished batch
//! would wait behind those of a running one; the copy engine is the same.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use divisi_runtime::compute::ComputeError;
use divisi_runtime::compute::gpu::{LaneProgram, Program};
use divisi_runtime::device::gpu::{DeviceSlice, Event, Gpu, HostSlice, PinnedBlock};

/// Positions in the lane's stream: before and after computing, and after the answers' arrival in
/// host memory.
#[derive(Debug)]
pub(super) struct LaneMarks {
    pub begun: Arc<dyn Event>,
    pub computed: Arc<dyn Event>,
    pub returned: Arc<dyn Event>,
}

/// A lane with the memory at both ends.
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
    /// Creates a lane for batches of up to `rows`.
    ///
    /// # Errors
    /// The GPU or the lockable host memory is too small.
    pub(super) fn new(
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

    /// Returns the values of a sample.
    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Queues the copy of whole samples from `from` to row `row` of the lane's own memory, which is
    /// allocated on first use. Returns their destination.
    ///
    /// # Errors
    /// There is no room, or the driver fails.
    pub(super) fn copy_in(
        &mut self,
        from: &HostSlice,
        row: usize,
    ) -> Result<DeviceSlice, ComputeError> {
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

    /// Queues a batch of `rows` rows over `samples`, and the copy of its first `answered` answers
    /// to the host.
    ///
    /// # Errors
    /// The batch is larger than the lane, or the driver fails.
    pub(super) fn launch(
        &mut self,
        rows: usize,
        answered: usize,
        samples: &[DeviceSlice],
    ) -> Result<LaneMarks, ComputeError> {
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
        Ok(LaneMarks {
            begun,
            computed,
            returned: self.lane.stream().record()?,
        })
    }

    /// Waits for all queued work.
    ///
    /// # Errors
    /// Some of the work failed.
    pub(super) fn settle(&self) -> Result<(), ComputeError> {
        Ok(self.lane.stream().synchronize()?)
    }

    /// Returns the first `answered` answers of the last batch.
    pub(super) fn answers(&self, answered: usize) -> &[f32] {
        &self.answers.values()[..answered * self.outputs]
    }
}

/// A lane without an engine, for measuring. It copies samples in, computes and copies answers out
/// in sequence, like policies that do not copy ahead.
pub struct GpuRunner {
    stage: LaneBuffers,
    samples: PinnedBlock,
}

impl GpuRunner {
    /// Creates a lane for batches of up to `rows` samples of `inputs` values.
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

    /// Returns the samples of the batches, for writing.
    pub fn samples(&mut self) -> &mut [f32] {
        self.samples.values_mut()
    }

    /// Runs a batch of the first `rows` samples. Returns its time, including copies.
    ///
    /// # Errors
    /// The batch is larger than the lane, or the driver fails.
    pub fn run(&mut self, rows: usize) -> Result<Duration, ComputeError> {
        let start = Instant::now();
        let from = self.samples.slice(0, rows * self.stage.inputs());
        let samples = self.stage.copy_in(&from, 0)?;
        let marks = self.stage.launch(rows, rows, &[samples])?;
        marks.returned.wait()?;
        Ok(start.elapsed())
    }

    /// Returns the answers to the first `rows` samples of the latest batch.
    pub fn answers(&self, rows: usize) -> &[f32] {
        self.stage.answers(rows)
    }
}

/// The most separate intervals kept. Older gaps count as covered.
const MOST: usize = 64;

/// The time in which a GPU computed: the union of the added intervals.
#[derive(Debug, Default)]
pub(super) struct BusyIntervals {
    /// Disjoint intervals, in order.
    times: VecDeque<(Duration, Duration)>,
    /// Earlier times count as covered.
    closed: Duration,
}

impl BusyIntervals {
    /// Adds the interval `from` to `to`. Returns the part that was not covered yet, so that the
    /// returned times of all batches add up to the union.
    pub(super) fn add(&mut self, from: Duration, to: Duration) -> Duration {
        let from = from.max(self.closed);
        if to <= from {
            return Duration::ZERO;
        }
        let overlaps = |&&(a, b): &&(Duration, Duration)| b >= from && a <= to;
        let known = self.times.iter().filter(overlaps);
        let common = |&(a, b): &(Duration, Duration)| b.min(to).saturating_sub(a.max(from));
        let covered: Duration = known.clone().map(common).sum();
        let whole = known.fold((from, to), |(x, y), &(a, b)| (x.min(a), y.max(b)));
        self.times.retain(|&(a, b)| b < from || a > to);
        let at = self.times.partition_point(|&(a, _)| a < whole.0);
        self.times.insert(at, whole);
        self.shorten();
        (to - from).saturating_sub(covered)
    }

    fn shorten(&mut self) {
        while self.times.len() > MOST {
            if let Some((_, end)) = self.times.pop_front() {
                self.closed = end;
            }
        }
    }
}
