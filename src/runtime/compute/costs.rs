//! The costs of a network: its memory, as the ledger books it, and the work of its fused
//! operations, for the laws of devices.
//!
//! Memory depends on fusion, methods and threads, so it is computed here and not in `network`. A
//! network is planned once; each batch size and number of threads is then arithmetic. The ledger
//! books the memory that workers take: folded weights once in their layout, the arena with all
//! scratch, both tensors, and Candle's copies for operations without a kernel. Files of weights are
//! mapped and not booked.

use super::batch_arenas::BatchArenas;
use super::buffers::TensorView;
use super::family::Family;
use super::fuse::{FusedStep, StepKernel, ValueId, fuse};
use super::gpu::{GpuPlan, LaneLayout, Precision, WeightLayout};
use super::kernels::StepMethod;
use super::lowering::CpuLowering;
use super::plan::{ArenaPlan, whole_arena};
use super::tensors::TensorForm;
use crate::device::simulated::OpWork;
use crate::network::{Graph, TensorOp};

/// The memory of a network at one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights as the kernels read them: shared by all workers of a memory space.
    pub weight_bytes: u64,
    /// Arena, input and answer of one worker at the requested batch size.
    pub activation_bytes: u64,
}

/// The memory of a network for every batch size and number of threads, planned once.
#[derive(Clone, Debug)]
pub struct FootprintModel {
    memory: MemoryModel,
    /// Floats of one sample's input and answer.
    ends: usize,
}

#[derive(Clone, Debug)]
enum MemoryModel {
    /// The plan of this processor's kernels.
    Kernels(Box<ArenaPlan>),
    /// The plan of the lowering for GPUs.
    Gpu(Box<GpuMemory>),
    /// Unfolded weights, and every value of all samples at once.
    Whole { weight_bytes: u64, arena: usize },
}

impl FootprintModel {
    /// Plans `graph` for the best kernels that this processor has.
    pub fn new(graph: &Graph) -> Self {
        Self::of_kernels(graph, Family::best())
    }

    /// Plans `graph` for kernels of this processor.
    pub fn of_kernels<'a>(graph: &Graph, by: impl Into<CpuLowering<'a>>) -> Self {
        let plan = by.into().plan(graph);
        FootprintModel {
            memory: MemoryModel::Kernels(Box::new(plan)),
            ends: input_and_answer_floats(graph),
        }
    }

    /// Plans `graph` for a GPU that computes in `precision`.
    pub fn of_gpu(graph: &Graph, precision: Precision) -> Self {
        FootprintModel {
            memory: MemoryModel::Gpu(Box::new(GpuMemory::new(graph, precision))),
            // Samples and answers are part of a lane.
            ends: 0,
        }
    }

    /// Plans `graph` for a device that runs each operation for a whole batch and takes
    /// weights as they are: simulated accelerators.
    pub fn of_accelerator(graph: &Graph) -> Self {
        FootprintModel {
            memory: MemoryModel::Whole {
                weight_bytes: graph.weight_bytes(),
                arena: whole_arena(graph),
            },
            ends: input_and_answer_floats(graph),
        }
    }

    /// Returns the memory for batches of up to `batch` samples, run by `threads` together.
    pub fn at(&self, batch: usize, threads: usize) -> Footprint {
        let ends = 4 * (batch * self.ends) as u64;
        match &self.memory {
            MemoryModel::Kernels(plan) => Footprint {
                weight_bytes: 4 * plan.weight_floats() as u64,
                activation_bytes: BatchArenas::bytes(plan, batch, threads.max(1))
                    + 4 * (batch * candle_floats(plan)) as u64
                    + ends,
            },
            MemoryModel::Gpu(memory) => memory.at(batch),
            MemoryModel::Whole {
                weight_bytes,
                arena,
            } => Footprint {
                weight_bytes: *weight_bytes,
                activation_bytes: 4 * (batch * arena) as u64 + ends,
            },
        }
    }
}

/// Candle's copies of a step's inputs and answer at one time: in the arena, as tensors, repeated to
/// one shape, and reordered.
const CANDLE_COPIES: usize = 4;

/// Returns the floats that Candle takes of the heap for a sample, in the step that takes most.
fn candle_floats(plan: &ArenaPlan) -> usize {
    let values = |view: &TensorView| view.pixels() * view.channels;
    let by_candle = plan
        .steps
        .iter()
        .filter(|step| matches!(step.method, StepMethod::Candle));
    let each = by_candle.map(|step| {
        let read: usize = step.placed.inputs.iter().map(values).sum();
        CANDLE_COPIES * (read + values(&step.placed.output))
    });
    each.max().unwrap_or(0)
}

/// Returns the floats of a sample and its answer, twice if lengths vary, because samples of one
/// length are gathered.
fn input_and_answer_floats(graph: &Graph) -> usize {
    let once = graph.input().elements() + graph.output().elements();
    once * (1 + usize::from(graph.lengths().is_some()))
}

/// Returns the memory that `graph` takes for batches of up to `batch` samples on `threads` threads.
/// A [`FootprintModel`] plans once for several batch sizes.
pub fn footprint(graph: &Graph, batch: usize, threads: usize) -> Footprint {
    FootprintModel::new(graph).at(batch, threads)
}

/// The memory of a network on a GPU for every batch size, planned once.
#[derive(Clone, Debug)]
struct GpuMemory {
    plan: GpuPlan,
    weight_bytes: u64,
}

impl GpuMemory {
    /// Plans `graph` for `precision`.
    pub(crate) fn new(graph: &Graph, precision: Precision) -> Self {
        let plan = GpuPlan::new(graph, precision);
        GpuMemory {
            weight_bytes: WeightLayout::new(graph, &plan).bytes as u64,
            plan,
        }
    }

    /// Returns the memory of a worker of batch size `batch`: as one lane, or as the lanes
    /// 1, 1, 2, 4, … of `elastic`, whichever takes more.
    pub(crate) fn at(&self, batch: usize) -> Footprint {
        let doubled = std::iter::successors(Some(1), |s| Some(s * 2));
        let lanes = std::iter::once(1).chain(doubled.take_while(|s| s * 2 <= batch));
        let elastic: u64 = lanes.map(|rows| self.lane(rows)).sum();
        Footprint {
            weight_bytes: self.weight_bytes,
            activation_bytes: self.lane(batch).max(elastic),
        }
    }

    /// Returns the bytes of a lane, with the samples that it holds under policies that copy a
    /// batch's samples at its start.
    fn lane(&self, rows: usize) -> u64 {
        let staged = rows * self.plan.inputs * size_of::<f32>();
        (LaneLayout::new(&self.plan, rows).bytes + staged) as u64
    }
}

/// Returns the work of each fused operation of `graph`, in order. Operations that move nothing on a
/// device, such as a concatenation in place, are skipped.
pub fn work(graph: &Graph) -> Vec<OpWork> {
    let steps = fuse(graph);
    let steps = steps.iter().filter(|step| occupies_device(step.kernel));
    steps.map(|step| step_work(graph, step)).collect()
}

fn occupies_device(kernel: StepKernel) -> bool {
    !matches!(
        kernel,
        StepKernel::Enter
            | StepKernel::Concat
            | StepKernel::Flatten
            | StepKernel::Tensor(TensorOp::View { .. })
    )
}

pub(super) fn step_work(graph: &Graph, step: &FusedStep) -> OpWork {
    let read: usize = step.reads().map(|v| elements(graph, v)).sum();
    let written = elements(graph, step.output);
    OpWork {
        flops: flops(graph, step) as f64,
        bytes: 4.0 * (read + written) as f64,
        unfused_bytes: 4.0 * (unfused_passes(step) * written) as f64,
        weight_bytes: 4.0 * step.weights.map_or(0, |node| graph.node_weights(node)) as f64,
    }
}

/// Returns how many times more the result would be read and written if the step's batch norm,
/// sum and activation were layers of their own.
fn unfused_passes(step: &FusedStep) -> usize {
    let norm = step.norm.is_some() && step.weights.is_some();
    let sum = step.residual.is_some() && step.kernel != StepKernel::Copy;
    let activation = step.activation.is_some() && step.kernel != StepKernel::Copy;
    2 * (usize::from(norm) + usize::from(sum) + usize::from(activation))
}

fn elements(graph: &Graph, value: ValueId) -> usize {
    match value.checked_sub(1).and_then(|i| graph.nodes().get(i)) {
        Some(node) => node.shape.elements(),
        None => graph.input().elements(),
    }
}

/// Returns the FLOPs of the node whose kernel runs, and of the operations fused into it.
fn flops(graph: &Graph, step: &FusedStep) -> u64 {
    let main = step.weights.or(step.norm).unwrap_or(step.output - 1);
    // The node is the second product; the first one is equally large.
    let products = match step.tensors.as_deref() {
        Some(TensorForm::Attention(_)) => 2,
        _ => 1,
    };
    let fused = u64::from(step.activation.is_some()) + u64::from(step.residual.is_some());
    products * graph.node_flops(main) + fused * elements(graph, step.output) as u64
}
