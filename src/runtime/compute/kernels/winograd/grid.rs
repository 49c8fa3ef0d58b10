//! The tiles of a Winograd convolution: their places, and their choice by a model of their cost.

use super::super::panels::TileShape;
use super::axis::TileAxis;
use crate::compute::buffers::TensorView;
use crate::network::{Conv2d, Sides};

/// The tiles of all samples, line by line.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileGrid {
    /// Along height and width.
    pub sides: [TileAxis; 2],
    /// Zeros above and left of the image.
    padding: [usize; 2],
    /// Height and width of the input.
    input: [usize; 2],
    /// Tiles along height and width.
    tiles: [usize; 2],
}

/// One tile: its sample and its first output pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub sample: usize,
    pub y: usize,
    pub x: usize,
}

impl Spot {
    /// Returns the output pixel `(y, x)` of the tile, counted over all samples.
    #[inline(always)]
    pub(super) fn output(self, view: TensorView, y: usize, x: usize) -> usize {
        (self.sample * view.height + self.y + y) * view.width + self.x + x
    }
}

impl TileGrid {
    pub(super) fn new(
        sides: [TileAxis; 2],
        padding: [usize; 2],
        input: TensorView,
        output: TensorView,
    ) -> Self {
        TileGrid {
            sides,
            padding,
            input: [input.height, input.width],
            tiles: [sides[0].tiles(output.height), sides[1].tiles(output.width)],
        }
    }

    /// Returns the tiles of one sample.
    pub(super) fn tiles(&self) -> usize {
        self.tiles[0] * self.tiles[1]
    }

    /// Returns the points of one tile.
    pub(super) fn points(&self) -> usize {
        self.sides[0].points * self.sides[1].points
    }

    pub(super) fn spot(&self, tile: usize) -> Spot {
        let (line, column) = (tile / self.tiles[1], tile % self.tiles[1]);
        Spot {
            sample: line / self.tiles[0],
            y: line % self.tiles[0] * self.sides[0].outputs,
            x: column * self.sides[1].outputs,
        }
    }

    /// Returns which points of a tile along a side (0 for height, 1 for width) lie inside the
    /// image, as the first and the end; the tile's first output is at `at`.
    pub(super) fn inside(&self, side: usize, at: usize) -> [usize; 2] {
        let (padding, points) = (self.padding[side], self.sides[side].points);
        let end = (self.input[side] + padding).saturating_sub(at).min(points);
        [padding.saturating_sub(at).min(end), end]
    }

    /// Returns the grid of one tile as a separate image, without padding.
    pub(super) fn single_tile(self) -> TileGrid {
        TileGrid {
            padding: [0; 2],
            input: self.sides.map(|side| side.points),
            tiles: [1; 2],
            ..self
        }
    }

    /// Iterates over the input pixels of the tile at `spot` inside the image: the number of
    /// each within the tile, and in the view, counted over all samples.
    pub(super) fn pixels(
        &self,
        view: TensorView,
        spot: Spot,
    ) -> impl Iterator<Item = (usize, usize)> {
        let rows = self.inside(0, spot.y);
        let columns = self.inside(1, spot.x);
        let (first, points) = (self.first_pixel(view, spot), self.sides[1].points);
        let lines =
            (rows[0]..rows[1]).map(move |y| (y * points, first + (y * view.width) as isize));
        lines.flat_map(move |(at, line)| {
            (columns[0]..columns[1]).map(move |x| (at + x, (line + x as isize) as usize))
        })
    }

    /// Returns the input pixel under the first point, counted over all samples; it may lie
    /// outside of the image.
    pub(super) fn first_pixel(&self, view: TensorView, spot: Spot) -> isize {
        let y = spot.y as isize - self.padding[0] as isize;
        let x = spot.x as isize - self.padding[1] as isize;
        ((spot.sample * view.height) as isize + y) * view.width as isize + x
    }
}

/// The addresses of the points of tiles.
#[derive(Clone, Copy)]
pub(super) struct Points {
    /// The first tile's first channel at the first point.
    pub start: *mut f32,
    /// Floats from one point to the next, and from one tile to the next.
    pub point: usize,
    pub tile: usize,
}

/// Returns the sides of the tiles that are expected to be fastest, or `None` if the algorithm
/// cannot be used or is not expected to be faster than multiplying directly.
pub(super) fn sides(
    conv: Conv2d,
    input: TensorView,
    output: TensorView,
    shape: TileShape,
) -> Option<([TileAxis; 2], f64)> {
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
    let rows = TileAxis::for_taps(conv.kernel.height);
    let both = rows.flat_map(|rows| TileAxis::for_taps(conv.kernel.width).map(move |c| [rows, c]));
    let costs = both.map(|sides| (job.cost(sides), sides));
    let (cost, sides) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((sides, job.direct() / cost)).filter(|(_, times)| *times > WORTH)
}

/// How many times as fast as the direct algorithm it has to be to be used, since its weights are
/// larger.
const WORTH: f64 = 1.0 / 0.85;

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
