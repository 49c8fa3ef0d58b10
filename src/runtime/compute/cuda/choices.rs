//! The choice of a method for each convolution: measured once for each shape, and kept for the
//! GPU.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::Mutex;

use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags;

use crate::compute::ComputeError;
use crate::compute::buffers::TensorView;
use crate::compute::gpu::{GpuOp, Precision};
use crate::device::cuda::gpu_error;
use crate::device::gpu::GpuError;
use crate::lock::lock;
use crate::network::{Activation, Conv2d};

use super::dense::{Dense, DenseMethod};
use super::work::{Queue, QueuedWork};

/// The properties that a choice depends on. Buffers differ between lanes, their layout does
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DenseShape {
    conv: Conv2d,
    precision: Precision,
    rows: usize,
    /// Height, width, channels, pitch, and the offset of the first channel.
    input: [usize; 5],
    output: [usize; 5],
    residual: Option<[usize; 2]>,
    /// The activation's kind; its parameters do not change the time.
    activation: Option<Discriminant<Activation>>,
    biased: bool,
    workspace: usize,
}

/// The choices made so far by all lanes of one GPU.
#[derive(Default)]
pub(super) struct Choices {
    known: Mutex<HashMap<DenseShape, DenseMethod>>,
}

/// Timed runs of each method, after one that is not timed.
const RUNS: usize = 3;

/// Returns the number of rows that a batch is measured at: the next power of four, or the
/// lane's.
pub(super) fn kind_of(rows: usize, lane: usize) -> usize {
    let powers = std::iter::successors(Some(1), |r| Some(r * 4));
    powers
        .take_while(|&power| power < lane)
        .find(|&power| power >= rows)
        .unwrap_or(lane)
}

impl Choices {
    /// Returns the method for `dense`, whose rows are those of [`kind_of`]. If it is not known
    /// yet, methods are timed on the lane's own buffers, whose values are overwritten.
    ///
    /// # Errors
    /// No method works, or the GPU is lost.
    pub(super) fn way(&self, dense: &Dense<'_>) -> Result<DenseMethod, ComputeError> {
        let shape = shape(dense);
        if let Some(way) = lock(&self.known).get(&shape) {
            return Ok(*way);
        }
        let way = fastest(dense)?;
        lock(&self.known).insert(shape, way);
        Ok(way)
    }
}

fn shape(dense: &Dense<'_>) -> DenseShape {
    let step = dense.step;
    // Alignment decides which algorithms are available; more than 256 bytes makes no difference.
    let unit = 256 / dense.memory.precision.bytes();
    let of = |v: &TensorView| [v.height, v.width, v.channels, v.pitch, v.first % unit];
    DenseShape {
        conv: match step.op {
            GpuOp::Dense(conv) => conv,
            _ => Conv2d::new(step.output.channels, 1),
        },
        precision: dense.memory.precision,
        rows: dense.rows,
        input: of(&step.input),
        output: of(&step.output),
        residual: step.residual.map(|v| [v.pitch, v.first % unit]),
        activation: step.activation.as_ref().map(discriminant),
        biased: dense.arrays.bias.is_some(),
        workspace: dense.queue.workspace.bytes,
    }
}

fn fastest(dense: &Dense<'_>) -> Result<DenseMethod, ComputeError> {
    let mut best: Option<(f32, DenseMethod)> = None;
    let mut why = None;
    for way in dense.ways() {
        let timed = dense.works(way).and_then(|works| time(dense.queue, &works));
        match timed {
            Ok(took) if best.is_none_or(|(least, _)| took < least) => best = Some((took, way)),
            Ok(_) => {}
            // If one library refuses the work, another may accept it. A lost GPU is lost for all.
            Err(ComputeError::Gpu(lost)) if lost.is_lost() => return Err(lost.into()),
            Err(error) => why = Some(error),
        }
    }
    let none = || GpuError::Other("no way to compute a convolution".into()).into();
    best.map(|(_, way)| way)
        .ok_or_else(|| why.unwrap_or_else(none))
}

/// Returns the milliseconds of one run on the GPU.
fn time(queue: &Queue, works: &[QueuedWork]) -> Result<f32, ComputeError> {
    let mark = || {
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        queue.stream.record_event(flags).map_err(gpu_error)
    };
    queue.all(works)?;
    queue.stream.synchronize().map_err(gpu_error)?;
    let mut least = f32::INFINITY;
    for _ in 0..RUNS {
        let start = mark()?;
        queue.all(works)?;
        let end = mark()?;
        least = least.min(start.elapsed_ms(&end).map_err(gpu_error)?);
    }
    Ok(least)
}
