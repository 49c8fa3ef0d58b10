//! The memory of a network, as the ledger books it.
//!
//! It depends on what was fused, on the methods and on the threads, hence it is here and not in
//! `network`. A network is planned once; a batch size and a number of threads are arithmetic after
//! that. What is booked is what workers take: folded weights once as they are laid out, the arena
//! with all scratch, both tensors. Files of weights are mapped and not booked.

use crate::network::Graph;

use super::family::Family;
use super::gpu::{GpuPlan, LaneLayout, Precision, WeightLayout};
use super::kernels::TileShape;
use super::plan::{ArenaPlan, whole_arena};

/// The memory of a network at one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights as the kernels read them: shared by all workers of a memory space.
    pub weight_bytes: u64,
    /// Arena, input and answer of one worker at the batch size asked for.
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
    /// Weights as they are, and every value of all samples at once.
    Whole { weight_bytes: u64, arena: usize },
}

impl FootprintModel {
    /// Plans `graph` for the best kernels that this processor has.
    pub fn new(graph: &Graph) -> Self {
        let plan = ArenaPlan::new(graph, TileShape::of(Family::best()));
        FootprintModel {
            memory: MemoryModel::Kernels(Box::new(plan)),
            ends: ends(graph),
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
            ends: ends(graph),
        }
    }

    /// Returns the memory for batches of up to `batch` samples, run by `threads` together.
    pub fn at(&self, batch: usize, threads: usize) -> Footprint {
        let ends = 4 * (batch * self.ends) as u64;
        match &self.memory {
            MemoryModel::Kernels(plan) => {
                let layout = plan.layout(plan.together(batch), threads.max(1));
                Footprint {
                    weight_bytes: 4 * plan.weight_floats() as u64,
                    activation_bytes: layout.bytes() + ends,
                }
            }
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

fn ends(graph: &Graph) -> usize {
    graph.input().elements() + graph.output().elements()
}

/// Returns the memory that `graph` takes for batches of up to `batch` samples, run by
/// `threads` together. A [`FootprintModel`] plans once for several batch sizes.
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

    /// Returns the bytes of a lane and of the samples that it holds under policies that copy a
    /// batch's samples when it starts.
    fn lane(&self, rows: usize) -> u64 {
        let staged = rows * self.plan.inputs * size_of::<f32>();
        (LaneLayout::new(&self.plan, rows).bytes + staged) as u64
    }
}
