//! The choice of Winograd's tiles, by a model of their cost.

use crate::compute::buffers::TensorView;
use crate::network::{Conv2d, Sides};

use super::super::panels::TileShape;
use super::axis::TileAxis;

/// Returns the sides of the tiles that are expected to be fastest, or `None` if the algorithm
/// cannot be used or is not expected to be faster than multiplying directly.
pub(super) fn sides(
    conv: Conv2d,
    input: TensorView,
    output: TensorView,
    shape: TileShape,
) -> Option<[TileAxis; 2]> {
    let Sides { height, width } = conv.kernel;
    // There are transforms for square kernels and for lines.
    let known = height == width || height == 1 || width == 1;
    let usable = conv.stride == 1 && conv.dilation == 1 && conv.groups == 1;
    if !known || !usable || conv.kernel.area() == 1 || input.channels < shape.lanes {
        return None;
    }
    let job = CostModel {
        conv,
        input,
        output,
        lanes: shape.lanes as f64,
    };
    let rows = TileAxis::all(conv.kernel.height);
    let both = rows.flat_map(|rows| TileAxis::all(conv.kernel.width).map(move |c| [rows, c]));
    let costs = both.map(|sides| (job.cost(sides), sides));
    let (cost, sides) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (cost < WORTH * job.direct()).then_some(sides)
}

/// The share of the direct algorithm's time below which the algorithm is used, since its
/// weights are larger.
const WORTH: f64 = 0.85;

/// The batch sizes that a choice considers.
const BATCHES: [f64; 2] = [1.0, 8.0];

/// Cycles, as counted on a Zen 5 core, of a vector through a forward or a backward
/// transform, for each of a tile's points.
const FORWARD: f64 = 3.0;
const BACK: f64 = 2.5;

/// Floats of weights that stream from memory in a cycle.
const STREAM: f64 = 2.5;

/// The cost model of a convolution, in cycles for a sample, summed over [`BATCHES`].
struct CostModel {
    conv: Conv2d,
    input: TensorView,
    output: TensorView,
    lanes: f64,
}

impl CostModel {
    fn weights(&self) -> f64 {
        (self.input.channels * self.conv.channels) as f64
    }

    /// Returns the cost of matrix products: two vectors a cycle, or as weights stream.
    fn product(&self, rows: f64, matrices: f64) -> f64 {
        let each = BATCHES.map(|batch| {
            let compute = batch * rows * matrices * self.weights() / (2.0 * self.lanes);
            compute.max(matrices * self.weights() / STREAM) / batch
        });
        each.iter().sum()
    }

    fn direct(&self) -> f64 {
        self.product(self.output.pixels() as f64, self.conv.kernel.area() as f64)
    }

    fn cost(&self, sides: [TileAxis; 2]) -> f64 {
        let tiles = (sides[0].tiles(self.output.height) * sides[1].tiles(self.output.width)) as f64;
        let points = (sides[0].points * sides[1].points) as f64;
        let vectors = |channels: usize| (channels as f64 / self.lanes).ceil();
        let transforms =
            FORWARD * vectors(self.input.channels) + BACK * vectors(self.output.channels);
        self.product(tiles, points) + BATCHES.len() as f64 * tiles * points * transforms
    }
}
