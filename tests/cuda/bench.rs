//! A lane as tests use it: samples in, answers out.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use divisi_runtime::compute::cuda::lower;
use divisi_runtime::compute::gpu::{LaneProgram, Precision, Program};
use divisi_runtime::device::gpu::{DeviceSlice, Gpu, PinnedBlock, open};
use divisi_runtime::network::{Graph, Shape, Weights};

static ALONE: RwLock<()> = RwLock::new(());

/// Held by tests that may run at the same time as others.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    ALONE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by those that look at all of the GPU's memory.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    ALONE.write().unwrap_or_else(PoisonError::into_inner)
}

/// The first GPU.
pub fn gpu() -> Arc<dyn Gpu> {
    open(0).expect("a GPU, or the fake driver")
}

pub fn program(graph: &Graph, weights: &Weights, precision: Precision) -> Arc<dyn Program> {
    lower(&gpu(), graph, weights, precision).expect("lowers")
}

/// Values from -1 to 1.
pub fn samples(n: usize, shape: Shape) -> Vec<f32> {
    let values = 0..n * shape.elements();
    values
        .map(|i| ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0)
        .collect()
}

/// Memory of the GPU with `values` in it.
pub fn upload(gpu: &Arc<dyn Gpu>, values: &[f32]) -> DeviceSlice {
    let memory = DeviceSlice::whole(gpu.allocate(4 * values.len()).expect("memory"));
    let mut block = gpu.pinned(values.len()).expect("pinned memory");
    block.values_mut().copy_from_slice(values);
    let stream = gpu.stream().expect("stream");
    let queued = stream.copy_in(&block.slice(0, values.len()), &memory);
    queued.expect("copies");
    stream.synchronize().expect("copied");
    memory
}

/// A lane with what it needs at both ends.
pub struct Bench {
    lane: Box<dyn LaneProgram>,
    answers: PinnedBlock,
    outputs: usize,
}

impl Bench {
    pub fn new(program: &Arc<dyn Program>, rows: usize, outputs: usize) -> Self {
        Bench {
            lane: program.lane(rows).expect("a lane"),
            answers: gpu().pinned(rows * outputs).expect("pinned memory"),
            outputs,
        }
    }

    /// Queues a batch; returns what to wait for.
    pub fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) {
        self.lane.launch(rows, samples).expect("launches");
        let floats = rows * self.outputs;
        let to = self.answers.slice(0, floats);
        let copied = self.lane.stream().copy_out(&self.lane.answers(rows), &to);
        copied.expect("copies");
    }

    pub fn wait(&self, rows: usize) -> Vec<f32> {
        self.lane
            .stream()
            .record()
            .expect("event")
            .wait()
            .expect("done");
        self.answers.values()[..rows * self.outputs].to_vec()
    }

    pub fn answer(&mut self, rows: usize, samples: &[DeviceSlice]) -> Vec<f32> {
        self.launch(rows, samples);
        self.wait(rows)
    }
}

/// The largest difference as a share of the largest value; NaN counts as the largest.
pub fn apart(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let scale = expected.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
    let differences = expected
        .iter()
        .zip(found)
        .map(|(a, b)| (a - b).abs() / scale);
    differences.max_by(f32::total_cmp).unwrap_or(0.0)
}
