//! Memory that a network takes on a GPU, as the ledger books it.

use crate::compute::footprint::Footprint;
use crate::network::Graph;

use super::layout::LaneLayout;
use super::plan::GpuPlan;
use super::precision::Precision;
use super::weights::WeightLayout;

/// What a network's footprints on a GPU follow from, planned once.
#[derive(Clone, Debug)]
pub(in crate::compute) struct GpuMemory {
    plan: GpuPlan,
    weight_bytes: u64,
}

impl GpuMemory {
    /// Plans `graph` for `precision`.
    pub fn new(graph: &Graph, precision: Precision) -> Self {
        let plan = GpuPlan::new(graph, precision);
        GpuMemory {
            weight_bytes: WeightLayout::new(graph, &plan).bytes as u64,
            plan,
        }
    }

    /// Memory of a worker of batch size `batch`: as one lane, or as the lanes 1, 1, 2, 4, …
    /// of `elastic`, whichever takes more.
    pub fn at(&self, batch: usize) -> Footprint {
        let doubled = std::iter::successors(Some(1), |s| Some(s * 2));
        let lanes = std::iter::once(1).chain(doubled.take_while(|s| s * 2 <= batch));
        let elastic: u64 = lanes.map(|rows| self.lane(rows)).sum();
        Footprint {
            weight_bytes: self.weight_bytes,
            activation_bytes: self.lane(batch).max(elastic),
        }
    }

    /// Bytes of a lane, and of the samples that it holds under policies that copy a
    /// batch's samples when it starts.
    fn lane(&self, rows: usize) -> u64 {
        let staged = rows * self.plan.inputs * size_of::<f32>();
        (LaneLayout::new(&self.plan, rows).bytes + staged) as u64
    }
}
