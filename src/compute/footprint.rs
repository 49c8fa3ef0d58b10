//! Memory of one network, as the ledger books it.

use crate::network::Graph;

use super::plan::{Plan, split};

/// Memory of one network at one batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Weights after folding: shared by all workers of a memory space.
    pub weight_bytes: u64,
    /// Arena, input and answer of one worker at the batch size asked for.
    pub activation_bytes: u64,
}

/// What a network's footprints follow from: planned once, asked for any batch size and
/// number of threads.
#[derive(Clone, Copy, Debug)]
pub struct FootprintModel {
    weight_bytes: u64,
    /// Floats of one sample in the arena.
    arena: usize,
    /// Floats of scratch of one thread.
    tile: usize,
    /// Floats of one sample's input and answer.
    ends: usize,
}

impl FootprintModel {
    /// Plans `graph`.
    pub fn new(graph: &Graph) -> Self {
        let plan = Plan::new(graph);
        FootprintModel {
            weight_bytes: graph.weight_bytes(),
            arena: plan.slots.iter().sum(),
            tile: plan.tile(graph),
            ends: graph.input().elements() + graph.output().elements(),
        }
    }

    /// Memory for batches of up to `batch`, split over `threads`.
    pub fn at(&self, batch: usize, threads: usize) -> Footprint {
        let (arenas, share) = split(batch, threads);
        let floats = arenas * (share * self.arena + self.tile) + batch * self.ends;
        Footprint {
            weight_bytes: self.weight_bytes,
            activation_bytes: 4 * floats as u64,
        }
    }
}

/// Memory that `graph` takes when run with batches of up to `batch` samples, split
/// over `threads`. Who asks more than once plans once, with [`FootprintModel`].
pub fn footprint(graph: &Graph, batch: usize, threads: usize) -> Footprint {
    FootprintModel::new(graph).at(batch, threads)
}
