//! Convolutions and fully connected layers as one product over rows, which are found by offsets.
//!
//! Windows are not gathered: a tile's rows are read in place, with zeros for taps outside of the
//! image. Only inputs of few channels (a network's first layer) are first copied into padded
//! lines, so that a line of the kernel is one run of floats.

mod block;
mod narrow_groups;
pub(super) mod reads;

use super::activations::RowActivation;
use super::narrow::NARROW_ROWS;
use super::panels::{Filters, Panels, TileShape, even_tiles};
use super::reduced::{MOST_TILE, StepOutputs};
use super::task::{Call, MAX_PHASES, ProductBlocks, Scratch, Split, most_rows};
use super::tile::{Prefetch, Tile, tile_fn};
use crate::compute::buffers::{ReducedView, TensorView, ValuePlace};
use crate::network::Conv2d;
use block::{RowBlock, TileColumns};
use narrow_groups::narrow_width;
pub(super) use narrow_groups::reads_any;
use reads::{Reads, copied_lines, copy_lines, padded};

/// A convolution with its operands and the layout of its weights.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Convolution {
    pub conv: Conv2d,
    /// The step's input.
    input: TensorView,
    /// The product's input: the step's, or its copy in padded lines.
    read: TensorView,
    output: TensorView,
    /// Whether the input is channels-first.
    entry: bool,
    reads: Reads,
    /// The input as reduced numbers, if these are read.
    reduced: Option<ReducedView>,
    /// Channels of a group, if a vector of outputs reads several groups at once.
    narrow: Option<usize>,
    /// Weights of one group, or of all groups if they are narrow.
    pub panels: Panels,
    /// Whether the rows are tokens: few, and read by many panels.
    tokens: bool,
}

/// The most values of a row of tokens multiplied at once: a panel of 64 columns then takes 256 KiB.
const PART: usize = 1024;

/// Inputs of fewer channels are copied into padded lines.
const FEW_CHANNELS: usize = 16;

impl Convolution {
    /// Plans a convolution. `entry` is set if the input is channels-first.
    pub(crate) fn new(
        conv: Conv2d,
        input: TensorView,
        output: TensorView,
        entry: bool,
        shape: TileShape,
    ) -> Self {
        let few = conv.groups == 1 && input.channels < FEW_CHANNELS && conv.kernel.area() > 1;
        let outside = input.place == ValuePlace::Input
            && conv.padding.area() + conv.padding.height + conv.padding.width > 0;
        let prepared = entry || few || outside;
        let read = if prepared { padded(conv, input) } else { input };
        let reads = Reads::new(conv, read, output, prepared);
        let narrow = narrow_width(conv, input, shape);
        let panels = match narrow {
            None => Panels {
                depth: reads.taps * reads.depth,
                columns: conv.channels / conv.groups,
                shape,
            },
            Some(width) => Panels {
                depth: reads.taps * width,
                columns: conv.channels,
                shape: shape.narrow(NARROW_ROWS),
            },
        };
        Convolution {
            conv,
            input,
            read,
            output,
            entry,
            reads,
            reduced: None,
            narrow,
            panels,
            tokens: false,
        }
    }

    /// Returns the same over reduced numbers, if it [`reads_any`].
    pub(crate) fn of_reduced(self, input: ReducedView) -> Self {
        Convolution {
            reduced: Some(input),
            ..self
        }
    }

    /// Returns the bytes that represent 0 outside of an image, if bytes are read, and their number
    /// of floats.
    pub(crate) fn border(&self) -> Option<(u8, usize)> {
        let numbers = self.reduced?.numbers;
        Some((numbers.zero_point(), self.zeros().div_ceil(numbers.group())))
    }

    /// Plans a fully connected layer.
    pub(crate) fn of_tokens(
        features: usize,
        input: TensorView,
        output: TensorView,
        shape: TileShape,
    ) -> Self {
        let conv = Conv2d::new(features, 1);
        Convolution {
            tokens: true,
            ..Convolution::new(conv, input, output, false, shape)
        }
    }

    /// Returns the method's name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match (self.narrow, self.is_prepared()) {
            _ if self.tokens => "product",
            (Some(1), _) => "depthwise",
            (Some(_), _) => "narrow",
            (None, true) => "convolution, prepared",
            (None, false) => "convolution",
        }
    }

    /// Returns the parts of a row's values that are multiplied one after another, so that a
    /// panel's lines for one part stay in a core's cache from one tile to the next.
    fn parts(&self) -> Split {
        let most = if self.tokens { PART } else { self.reads.depth };
        Split::at_most(self.reads.depth, most)
    }

    /// Returns the floats of input that one more row brings into cache.
    fn touched(&self) -> usize {
        self.reads.touched().div_ceil(self.parts().tasks())
    }

    /// Returns the number of matrices of weights: one for each group, or one for narrow groups.
    fn matrices(&self) -> usize {
        self.narrow.map_or(self.conv.groups, |_| 1)
    }

    pub(crate) fn weight_floats(&self) -> usize {
        self.matrices() * self.panels.floats()
    }

    /// Returns whether weights are laid out as those of another convolution.
    pub(crate) fn packs_as(&self, other: &Convolution) -> bool {
        let of = |c: &Convolution| (c.conv, c.narrow, c.panels, c.entry);
        of(self) == of(other)
    }

    /// Lays weights out; `packed` has [`Convolution::weight_floats`] zeros.
    pub(crate) fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self.narrow {
            None => filters.pack(self.panels, packed),
            Some(width) => filters.pack_narrow(width, self.panels, packed),
        }
    }

    /// Returns whether the input is copied before it is read.
    fn is_prepared(&self) -> bool {
        self.read.place == ValuePlace::Shared
    }

    /// Returns the floats of zeros that replace a tap outside of the image, for every group.
    pub(crate) fn zeros(&self) -> usize {
        self.reads.depth.max(self.read.channels)
    }

    fn blocks(&self, samples: usize, threads: usize) -> ProductBlocks {
        let rows = samples * self.output.pixels();
        let panels = self.matrices() * self.panels.count();
        match self.tokens {
            true => ProductBlocks::of_tokens(rows, panels, self.touched(), threads),
            false => ProductBlocks::new(rows, panels, self.touched(), threads),
        }
    }

    pub(crate) fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let product = self.blocks(samples, threads).tasks();
        if self.is_prepared() {
            let copies = copied_lines(self.read, samples, threads).tasks();
            [copies, product, 0, 0]
        } else {
            [product, 0, 0, 0]
        }
    }

    /// Returns the scratch for up to `samples`, whose floats are `kept` or reduced tile by tile.
    pub(crate) fn scratch(&self, samples: usize, kept: bool) -> Scratch {
        let rows = samples * self.output.pixels();
        let tile = match self.narrow {
            Some(_) => self.narrow_rows() * self.panels.padded_columns(),
            None => 0,
        };
        Scratch {
            own: if kept { 0 } else { tile },
            shared: if self.is_prepared() {
                samples * self.read.sample_stride()
            } else {
                0
            },
            offsets: match self.runs_along_lines() {
                true => 0,
                false => rows.min(most_rows(self.touched())) * self.reads.taps,
            },
        }
    }

    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    pub(crate) unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.is_prepared() && phase == 0 {
                copy_lines(self.conv, self.entry, self.input, self.read, call, task);
            } else {
                self.product(call, task);
            }
        }
    }

    /// Computes one block of output pixels and panels.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run).
    unsafe fn product(&self, call: &mut Call<'_>, task: usize) {
        let (rows, panels) = self.blocks(call.samples, call.threads).ranges(task);
        let (base, values, zeros) = match self.reduced {
            Some(input) => {
                let (values, zeros) = call.memory.reduced_base(input);
                (std::ptr::null(), values, zeros)
            }
            None => {
                let (base, zeros) = call.memory.base(self.read);
                (base, base.cast(), zeros)
            }
        };
        if !self.runs_along_lines() {
            self.reads.list(rows.clone(), zeros, call.offsets);
        }
        let bytes = self.reduced.map_or(4, |view| view.numbers.bytes());
        let block = RowBlock {
            base,
            values,
            // Offsets of zeros wrap around to before the base.
            zeros: values.wrapping_add(zeros.wrapping_mul(bytes)),
            // SAFETY: blocks of a phase share pixels only if their panels differ, and a tile writes
            // only its panel's columns.
            outputs: unsafe { StepOutputs::for_task(call, rows.clone()) },
            // SAFETY: a step never reads the slot that it writes.
            residual: call.step.residual.map(|v| unsafe { call.memory.source(v) }),
            // SAFETY: the call's family is available.
            pass: unsafe { RowActivation::new(call.family, call.step.fused.activation) },
            rows,
        };
        // SAFETY: the offsets were just listed for these rows.
        unsafe {
            match self.narrow {
                None => panels.for_each(|panel| self.wide(call, &block, panel)),
                Some(width) => self.narrow(call, &block, width, panels),
            }
        }
    }

    /// Computes one panel, tile by tile.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::step::PlannedStep::run); the call's offsets are those of
    /// the block's rows.
    unsafe fn wide(&self, call: &Call<'_>, block: &RowBlock<'_>, index: usize) {
        let (group, index) = (index / self.panels.count(), index % self.panels.count());
        let panel = self.panels.panel(index);
        let weights = group * self.panels.floats() + panel.at;
        let columns = TileColumns {
            first: group * self.panels.columns + panel.column,
            input: group * self.reads.depth,
            weights,
            vectors: panel.vectors,
            last: panel.last,
        };
        let shape = self.panels.shape;
        let mut floats = [0.0; MOST_TILE];
        let buffer = floats.as_mut_ptr();
        let parts = match block.outputs.is_reduced_alone() {
            // Sums go on from floats that were written.
            true => Split::at_most(self.reads.depth, self.reads.depth),
            false => self.parts(),
        };
        for part in (0..parts.tasks()).map(|i| parts.range(i)) {
            let is_last = part.end == self.reads.depth;
            let tiles = even_tiles(block.rows.len(), shape.rows(panel.vectors));
            let lines = self.reads.taps * part.len();
            let shares = Prefetch::shares(lines, panel.vectors * shape.lanes, tiles.len());
            for (rows, prefetch) in tiles.zip(shares) {
                let run = tile_fn(call.family, panel.vectors, rows.len());
                let whole = self.tile(call, block, rows.start, columns, buffer);
                let tile = Tile {
                    prefetch,
                    ..whole.part(part.clone(), shape.lanes)
                };
                // SAFETY: the offsets are those of pixels of the input (or of the zeros), the
                // panel and the bias have their full width, and the rows of the residual and of
                // the output exist for all pixels of the block.
                unsafe {
                    run(&tile);
                    if is_last {
                        block.end(&tile, rows.clone(), columns, shape.lanes);
                    }
                }
            }
        }
    }

    /// Returns the tile of `columns`, beginning at row `row` of the block. Floats that are not kept
    /// go to `buffer`, row after row.
    fn tile(
        &self,
        call: &Call<'_>,
        block: &RowBlock<'_>,
        row: usize,
        columns: TileColumns,
        buffer: *mut f32,
    ) -> Tile {
        let pixel = block.rows.start + row;
        let first = columns.first;
        let residual = block.residual.map(|r| r.ptr(pixel).wrapping_add(first));
        let bias = call.weights.bias.get(first..).filter(|b| !b.is_empty());
        let width = columns.vectors * self.panels.shape.lanes;
        let (out, out_stride) = block.outputs.floats(pixel, first, buffer, width);
        Tile {
            base: block.base.wrapping_add(columns.input),
            rows: call.offsets.get(row..).unwrap_or_default().as_ptr(),
            rows_stride: block.rows.len(),
            taps: self.reads.taps,
            depth: self.reads.depth,
            panel: call.weights.packed.values()[columns.weights..].as_ptr(),
            prefetch: Prefetch::NOTHING,
            bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
            residual: residual.unwrap_or(std::ptr::null()),
            residual_stride: block.residual.map_or(0, |r| r.view.pitch),
            out,
            out_stride,
            vectors: columns.vectors,
            last: columns.last,
            activation: call.step.fused.activation,
        }
    }
}
