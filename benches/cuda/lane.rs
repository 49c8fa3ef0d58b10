//! A lane by itself: samples that lie in the GPU's memory, batch after batch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use divisi_runtime::compute::gpu::LaneProgram;
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::gpu::{DeviceSlice, Event, PinnedBlock};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bed::Bed;

/// Batches queued at once, so that the GPU never waits for this thread. They read the
/// same samples, so a lane that keeps one table of where they lie may write it again.
const AHEAD: usize = 2;

pub struct Lane {
    pub program: Box<dyn LaneProgram>,
    pub samples: DeviceSlice,
    pub rows: usize,
}

impl Lane {
    /// A lane of `member` for batches of `rows`, and samples for it.
    pub fn new(bed: &Bed, member: MemberIndex, rows: usize) -> Result<Self> {
        let program = bed.program(member)?.lane(rows)?;
        let block = random_block(bed, rows * bed.width(member))?;
        let from = block.slice(0, rows * bed.width(member));
        let samples = DeviceSlice::whole(bed.gpu.allocate(from.bytes())?);
        program.stream().copy_in(&from, &samples)?;
        program.stream().synchronize()?;
        Ok(Lane {
            program,
            samples,
            rows,
        })
    }

    /// Queues a batch; the event comes after it.
    pub fn launch(&mut self) -> Result<Arc<dyn Event>> {
        let samples = std::slice::from_ref(&self.samples);
        self.program.launch(self.rows, samples)?;
        Ok(self.program.stream().record()?)
    }

    /// Runs batches for `time`, after two that do not count; seconds of each.
    pub fn turn(&mut self, time: Duration) -> Result<Vec<f64>> {
        self.launch()?.wait()?;
        let began = Instant::now();
        let mut queued = std::collections::VecDeque::from([self.launch()?]);
        let mut ends = Vec::new();
        while let Some(event) = queued.pop_front() {
            while queued.len() + 1 < AHEAD && began.elapsed() < time {
                queued.push_back(self.launch()?);
            }
            event.wait()?;
            ends.push(event.happened()?);
        }
        Ok(ends
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_secs_f64())
            .collect())
    }
}

/// Pinned memory of normal-looking values, the same every time.
pub fn random_block(bed: &Bed, floats: usize) -> Result<PinnedBlock> {
    let mut block = bed.gpu.pinned(floats)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for value in block.values_mut() {
        *value = random.random_range(-2.0..2.0);
    }
    Ok(block)
}
