//! Memory of one network, as the ledger books it.

use crate::network::Graph;

use super::family::Family;
use super::kernels::TileShape;
use super::layout::Layout;
use super::plan::Plan;

/// Memory of one network at one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights as the kernels read them: shared by all workers of a memory space.
    pub weight_bytes: u64,
    /// Arena, input and answer of one worker at the batch size asked for.
    pub activation_bytes: u64,
}

/// What a network's footprints follow from: planned once, asked for any batch size and
/// number of threads.
#[derive(Clone, Debug)]
pub struct FootprintModel {
    plan: Plan,
    /// Floats of one sample's input and answer.
    ends: usize,
}

impl FootprintModel {
    /// Plans `graph` for the best kernels that this processor has.
    pub fn new(graph: &Graph) -> Self {
        FootprintModel {
            plan: Plan::new(graph, TileShape::of(Family::best())),
            ends: graph.input().elements() + graph.output().elements(),
        }
    }

    /// Memory for batches of up to `batch`, run by `threads` together.
    pub fn at(&self, batch: usize, threads: usize) -> Footprint {
        let together = self.plan.together(batch);
        let layout = Layout::new(&self.plan, together, threads.max(1));
        Footprint {
            weight_bytes: 4 * self.plan.weight_floats() as u64,
            activation_bytes: layout.bytes() + 4 * (batch * self.ends) as u64,
        }
    }
}

/// Memory that `graph` takes when run with batches of up to `batch` samples by `threads`
/// together. Who asks more than once plans once, with [`FootprintModel`].
pub fn footprint(graph: &Graph, batch: usize, threads: usize) -> Footprint {
    FootprintModel::new(graph).at(batch, threads)
}
