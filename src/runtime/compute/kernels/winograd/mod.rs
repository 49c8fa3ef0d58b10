//! Convolutions of stride 1 by Winograd's algorithm: fewer multiplications.
//!
//! Tiles of the input are transformed to points. For each point, the tiles times the transformed
//! weights is a product of matrices. Points are then transformed back. With many tiles, a task
//! takes a run of them through all three stages, so that they stay in its core's cache. With few
//! tiles, all threads share each stage.

mod axis;
mod backward;
mod forward;
mod grid;
mod special;

use std::ops::Range;

use super::activations::RowActivation;
use super::buffer::LINE;
use super::panels::{Filters, Panels, TileShape, even_tiles};
use super::task::{Call, MAX_PHASES, Scratch, Split};
use super::tile::{Prefetch, Tile, tile_fn};
use super::vector::dispatch;
use crate::compute::buffers::TensorView;
use crate::network::Conv2d;
use backward::Backward;
use forward::Forward;
use grid::{Points, TileGrid};
use special::Signs;

/// A convolution's tiles, points and weights.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Winograd {
    pub conv: Conv2d,
    grid: TileGrid,
    input: TensorView,
    output: TensorView,
    /// Weights of one point.
    panels: Panels,
}

/// The most floats of points of a task, so that they stay in a core's cache between the
/// transforms and the product.
const BLOCK_FLOATS: usize = 256 * 1024;

/// The least tiles of a block, so that a panel is used while it is in cache.
const LEAST_TILES: usize = 24;

impl Winograd {
    /// Plans a convolution, or returns `None` if the algorithm cannot be used or is not
    /// expected to be faster.
    pub(crate) fn new(
        conv: Conv2d,
        input: TensorView,
        output: TensorView,
        shape: TileShape,
    ) -> Option<Self> {
        let (sides, _) = grid::sides(conv, input, output, shape)?;
        let padding = [conv.padding.height, conv.padding.width];
        Some(Winograd {
            conv,
            grid: TileGrid::new(sides, padding, input, output),
            input,
            output,
            panels: Panels {
                depth: input.channels,
                columns: conv.channels,
                shape,
            },
        })
    }

    /// Returns whether the algorithm is expected to be more than `times` as fast as the direct one.
    pub(crate) fn is_faster(
        conv: Conv2d,
        input: TensorView,
        output: TensorView,
        shape: TileShape,
        times: f64,
    ) -> bool {
        grid::sides(conv, input, output, shape).is_some_and(|(_, faster)| faster > times)
    }

    /// Returns the floats of the transformed weights; their signs follow them.
    fn transformed_floats(&self) -> usize {
        self.grid.points() * self.panels.floats()
    }

    pub(crate) fn weight_floats(&self) -> usize {
        let taps = self.conv.kernel.area();
        self.transformed_floats() + Signs::count(self.input.channels, taps, self.conv.channels)
    }

    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        let (transformed, signs) = packed.split_at_mut(self.transformed_floats());
        axis::pack(filters, self.grid.sides, self.panels, transformed);
        Signs::pack(filters, bytemuck::cast_slice_mut(signs));
    }

    fn signs<'a>(&self, packed: &'a [f32]) -> Signs<'a> {
        Signs {
            words: bytemuck::cast_slice(&packed[self.transformed_floats()..]),
            taps: self.conv.kernel.area(),
            outputs: self.conv.channels,
        }
    }

    fn tiles(&self, samples: usize) -> usize {
        samples * self.grid.tiles()
    }

    /// Returns the floats of one tile at one point, before and after the product.
    fn depths(&self) -> [usize; 2] {
        [self.input.channels, self.panels.padded_columns()]
    }

    /// Returns the most tiles of a block.
    fn most(&self) -> usize {
        let each = self.grid.points() * self.depths().iter().sum::<usize>();
        (BLOCK_FLOATS / each.max(1)).max(LEAST_TILES)
    }

    /// Returns the blocks of tiles that each pass through all three stages on one thread, or `None`
    /// if threads are faster together.
    fn blocks(&self, samples: usize, threads: usize) -> Option<Split> {
        let tiles = self.tiles(samples);
        let blocks = Split::at_most(tiles, self.most().min(tiles.div_ceil(threads)));
        (threads == 1 || tiles >= few_tiles(threads)).then_some(blocks)
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        match self.blocks(samples, threads) {
            Some(blocks) => [blocks.tasks(), 0, 0, 0],
            None => {
                let tiles = self.together(samples, threads).tasks();
                [tiles, self.products(threads).tasks(), tiles, 0]
            }
        }
    }

    /// Divides tiles into tasks for threads that work together.
    fn together(&self, samples: usize, threads: usize) -> Split {
        Split::new(self.tiles(samples), 1, threads)
    }

    /// Divides the panels of all points into tasks.
    fn products(&self, threads: usize) -> Split {
        Split::new(self.grid.points() * self.panels.count(), 1, threads)
    }

    /// Returns the scratch for up to `samples` on up to `threads`, alone and together.
    pub(crate) fn scratch(&self, samples: usize, threads: usize) -> Scratch {
        let tiles = self.tiles(samples);
        let alone = tiles.min(self.most());
        let together = tiles.min(few_tiles(threads));
        let floats = |tiles| TileBlock::new(self, 0..tiles).floats();
        Scratch {
            own: floats(alone),
            shared: if threads > 1 { floats(together) } else { 0 },
            offsets: alone.max(together),
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        let all = 0..self.grid.points() * self.panels.count();
        // SAFETY: guaranteed by the caller; blocks have their own scratch, and tasks that work
        // together transform disjoint tiles or multiply into disjoint columns.
        unsafe {
            if let Some(blocks) = self.blocks(call.samples, call.threads) {
                let range = call.memory.own_scratch(call.thread);
                let block = TileBlock::new(self, blocks.range(task));
                assert!(block.floats() <= range.len(), "scratch for a smaller block");
                let scratch = call.memory.ptr(range.start);
                let tiles = block.tiles.clone();
                block.forward(call, scratch, tiles.clone());
                block.multiply(call, scratch, all);
                block.back(call, scratch, tiles);
                return;
            }
            let block = TileBlock::new(self, 0..self.tiles(call.samples));
            let range = call.memory.shared();
            assert!(block.floats() <= range.len(), "scratch for fewer tiles");
            let scratch = call.memory.ptr(range.start);
            let tiles = self.together(call.samples, call.threads);
            match phase {
                0 => block.forward(call, scratch, tiles.range(task)),
                1 => block.multiply(call, scratch, self.products(call.threads).range(task)),
                _ => block.back(call, scratch, tiles.range(task)),
            }
        }
    }
}

/// Returns the number of tiles below which threads transform and multiply together.
fn few_tiles(threads: usize) -> usize {
    2 * threads * LEAST_TILES
}

/// A run of tiles with their points in scratch.
struct TileBlock<'a> {
    of: &'a Winograd,
    tiles: Range<usize>,
    /// Floats from one point to the next, before and after the product.
    strides: [usize; 2],
}

impl<'a> TileBlock<'a> {
    fn new(of: &'a Winograd, tiles: Range<usize>) -> Self {
        // One more line, so that one tile's points do not all map to the same cache sets.
        let stride = |depth: usize| (tiles.len() * depth).next_multiple_of(LINE) + LINE;
        TileBlock {
            strides: of.depths().map(stride),
            of,
            tiles,
        }
    }

    /// Returns the floats of all points, and of a factor for each tile after them.
    fn floats(&self) -> usize {
        self.point_floats() + self.tiles.len().next_multiple_of(LINE)
    }

    fn point_floats(&self) -> usize {
        self.of.grid.points() * self.strides.iter().sum::<usize>()
    }

    /// Returns the address of the factor of tile `tile`.
    fn factors(&self, scratch: *mut f32, tile: usize) -> *mut f32 {
        scratch.wrapping_add(self.point_floats() + tile - self.tiles.start)
    }

    /// Returns the points before (0) or after (1) the product, from tile `tile` on.
    fn points(&self, scratch: *mut f32, side: usize, tile: usize) -> Points {
        let before = side * self.of.grid.points() * self.strides[0];
        let depth = self.of.depths()[side];
        Points {
            start: scratch.wrapping_add(before + (tile - self.tiles.start) * depth),
            point: self.strides[side],
            tile: depth,
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run); `scratch` has room for the
    /// block, and nothing else uses these
    /// tiles.
    unsafe fn forward(&self, call: &Call<'_>, scratch: *mut f32, tiles: Range<usize>) {
        let work = Forward {
            grid: &self.of.grid,
            points: self.points(scratch, 0, tiles.start),
            factors: self.factors(scratch, tiles.start),
            tiles,
            // SAFETY: a step never reads the slot that it writes.
            input: unsafe { call.memory.source(self.of.input) },
            family: call.family,
        };
        // SAFETY: guaranteed by the caller.
        unsafe { dispatch(call.family, work) };
    }

    /// Multiplies panels `products` of all points' with the block's tiles.
    ///
    /// # Safety
    /// As for [`TileBlock::forward`]; all tiles are transformed.
    unsafe fn multiply(&self, call: &mut Call<'_>, scratch: *mut f32, products: Range<usize>) {
        let panels = self.of.panels;
        let depths = self.of.depths();
        call.offsets.clear();
        call.offsets
            .extend((0..self.tiles.len()).map(|t| t * depths[0]));
        let [before, after] = [0, 1].map(|side| self.points(scratch, side, self.tiles.start));
        for product in products {
            let (point, index) = (product / panels.count(), product % panels.count());
            let panel = panels.panel(index);
            let weights = &call.weights.packed.values()[point * panels.floats() + panel.at..];
            let tiles = even_tiles(self.tiles.len(), panels.shape.rows(panel.vectors));
            let width = panel.vectors * panels.shape.lanes;
            let shares = Prefetch::shares(depths[0], width, tiles.len());
            for (rows, prefetch) in tiles.zip(shares) {
                let tile = Tile {
                    base: before.start.wrapping_add(point * before.point),
                    rows: call.offsets[rows.start..].as_ptr(),
                    rows_stride: 0,
                    taps: 1,
                    depth: depths[0],
                    panel: weights.as_ptr(),
                    prefetch,
                    bias: std::ptr::null(),
                    residual: std::ptr::null(),
                    residual_stride: 0,
                    out: after
                        .start
                        .wrapping_add(point * after.point + rows.start * depths[1] + panel.column),
                    out_stride: depths[1],
                    vectors: panel.vectors,
                    last: panels.shape.lanes,
                    activation: None,
                };
                let run = tile_fn(call.family, panel.vectors, rows.len());
                // SAFETY: rows are tiles of the block, whose points have whole vectors.
                unsafe { run(&tile) };
            }
        }
    }

    /// # Safety
    /// As for [`TileBlock::forward`]; all products are made.
    unsafe fn back(&self, call: &Call<'_>, scratch: *mut f32, tiles: Range<usize>) {
        let of = self.of;
        let pixels = 0..call.samples * of.output.pixels();
        let work = Backward {
            grid: &of.grid,
            points: self.points(scratch, 1, tiles.start),
            factors: self.factors(scratch, tiles.start),
            tiles,
            bias: &call.weights.bias,
            // SAFETY: a step never reads the slot that it writes.
            residual: call.step.residual.map(|v| unsafe { call.memory.source(v) }),
            activation: call.step.fused.activation,
            // SAFETY: the call's family is available.
            pass: unsafe { RowActivation::new(call.family, call.step.fused.activation) },
            view: of.output,
            // SAFETY: tiles write disjoint pixels.
            out: unsafe { call.memory.part(of.output, pixels) },
            // SAFETY: as above.
            input: unsafe { call.memory.source(of.input) },
            signs: of.signs(call.weights.packed.values()),
        };
        // SAFETY: guaranteed by the caller.
        unsafe { dispatch(call.family, work) };
    }
}
