//! Convolutions and fully connected layers as one product over rows found by offsets.
//!
//! Nothing is gathered: a tile's rows are read where they lie, zeros stand for what is
//! outside of the image. Only inputs of few channels (a network's first layer) are first
//! copied into padded lines, so that a line of the kernel is one run of floats.

mod blocks;
mod filters;
mod prepare;
mod reads;

pub(in crate::compute) use filters::Filters;

use std::ops::Range;

use crate::compute::view::{Place, View};
use crate::network::Conv2d;

use super::memory::Part;
use super::narrow::{NARROW_ROWS, narrow_fn};
use super::panels::{Panels, TileShape, even_tiles};
use super::tile::{Tile, tile_fn};
use super::{Call, MAX_PHASES, Scratch};
use blocks::{Blocks, most_rows};
use reads::Reads;

/// A convolution's way through its input, output and weights.
#[derive(Clone, Debug)]
pub(in crate::compute) struct Convolution {
    pub conv: Conv2d,
    /// What the step is given.
    input: View,
    /// What the product reads: the input, or its copy in padded lines.
    read: View,
    output: View,
    /// Samples arrive channels-first.
    entry: bool,
    reads: Reads,
    /// Channels of a group, where a vector of outputs reads several groups at once.
    narrow: Option<usize>,
    /// Weights of one group; of all of them where groups are narrow.
    pub panels: Panels,
}

/// Inputs of fewer channels are copied into padded lines.
const FEW_CHANNELS: usize = 16;

impl Convolution {
    /// `entry` says that the input is channels-first.
    pub fn new(conv: Conv2d, input: View, output: View, entry: bool, shape: TileShape) -> Self {
        let few = conv.groups == 1 && input.channels < FEW_CHANNELS && conv.kernel.area() > 1;
        let outside = input.place == Place::Input
            && conv.padding.area() + conv.padding.height + conv.padding.width > 0;
        let prepared = entry || few || outside;
        let read = if prepared {
            prepare::padded(conv, input)
        } else {
            input
        };
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
            narrow,
            panels,
        }
    }

    /// Matrices of weights: one a group, or one where groups are narrow.
    fn matrices(&self) -> usize {
        self.narrow.map_or(self.conv.groups, |_| 1)
    }

    pub fn weight_floats(&self) -> usize {
        self.matrices() * self.panels.floats()
    }

    /// Lays weights out; `packed` has [`Convolution::weight_floats`] zeros.
    pub fn pack(&self, filters: Filters<'_>, packed: &mut [f32]) {
        match self.narrow {
            None => filters.pack(self.panels, packed),
            Some(width) => filters.pack_narrow(width, self.panels, packed),
        }
    }

    /// Whether the input is copied before it is read.
    fn is_prepared(&self) -> bool {
        self.read.place == Place::Shared
    }

    /// Floats of zeros that stand for a tap outside of the image, for every group.
    pub fn zeros(&self) -> usize {
        self.reads.depth.max(self.read.channels)
    }

    fn blocks(&self, samples: usize, threads: usize) -> Blocks {
        let rows = samples * self.output.pixels();
        let panels = self.matrices() * self.panels.count();
        Blocks::new(rows, panels, self.reads.touched(), threads)
    }

    pub fn phases(&self, samples: usize, threads: usize) -> [usize; MAX_PHASES] {
        let product = self.blocks(samples, threads).tasks();
        if self.is_prepared() {
            let copies = prepare::split(self.read, samples, threads).tasks();
            [copies, product, 0]
        } else {
            [product, 0, 0]
        }
    }

    /// Enough for up to `samples`.
    pub fn scratch(&self, samples: usize) -> Scratch {
        let rows = samples * self.output.pixels();
        Scratch {
            own: 0,
            shared: if self.is_prepared() {
                samples * self.read.sample_stride()
            } else {
                0
            },
            offsets: rows.min(most_rows(self.reads.touched())) * self.reads.taps,
        }
    }

    /// # Safety
    /// As [`super::run`].
    pub unsafe fn run(&self, call: &mut Call<'_>, phase: usize, task: usize) {
        // SAFETY: handed on.
        unsafe {
            if self.is_prepared() && phase == 0 {
                prepare::run(self.conv, self.entry, self.input, self.read, call, task);
            } else {
                self.product(call, task);
            }
        }
    }

    /// One block of output pixels and panels.
    ///
    /// # Safety
    /// As [`super::run`].
    unsafe fn product(&self, call: &mut Call<'_>, task: usize) {
        let (rows, panels) = self.blocks(call.samples, call.threads).of(task);
        let (_, zeros) = call.memory.base(self.read);
        self.reads.list(rows.clone(), zeros, call.offsets);
        // SAFETY: blocks of a phase share pixels only where their panels differ, and a
        // tile writes its panel's columns alone.
        let out = unsafe { call.memory.part(self.output, rows.clone()) };
        for panel in panels {
            // SAFETY: the offsets were just listed for these rows.
            unsafe { self.panel(call, panel, rows.clone(), &out) };
        }
    }

    /// # Safety
    /// As [`super::run`]; the call's offsets are those of `rows`.
    unsafe fn panel(&self, call: &Call<'_>, index: usize, rows: Range<usize>, out: &Part<'_>) {
        let (group, index) = (index / self.panels.count(), index % self.panels.count());
        let panel = self.panels.panel(index);
        let column = group * self.panels.columns + panel.column;
        let weights = &call.weights.packed.values()[group * self.panels.floats()..][panel.at..];
        // SAFETY: a step never reads the slot that it writes.
        let residual = call.step.residual.map(|v| unsafe { call.memory.source(v) });
        let first = match self.narrow {
            None => group * self.reads.depth,
            Some(_) => panel.column,
        };
        let count = rows.len();
        let most = self.panels.shape.rows(panel.vectors);
        for tile in even_tiles(count, most) {
            let pixel = rows.start + tile.start;
            let from = residual.map(|r| r.ptr(pixel).wrapping_add(column));
            let tile_rows = Tile {
                base: call.memory.base(self.read).0.wrapping_add(first),
                rows: call.offsets[tile.start..].as_ptr(),
                rows_stride: count,
                taps: self.reads.taps,
                depth: self.reads.depth,
                panel: weights.as_ptr(),
                bias: bias(call, column, panel.vectors * self.panels.shape.lanes),
                residual: from.unwrap_or(std::ptr::null()),
                residual_stride: residual.map_or(0, |r| r.view.pitch),
                out: out.ptr(pixel).wrapping_add(column),
                out_stride: out.pitch(),
                last: panel.last,
                activation: call.step.fused.activation,
            };
            let run = match self.narrow {
                None => tile_fn(call.family, panel.vectors, tile.len()),
                Some(width) => narrow_fn(call.family, width, tile.len()),
            };
            // SAFETY: the offsets are those of pixels of the input (or of the zeros), the
            // panel and the bias have their full width, and the rows of the residual and of
            // the output exist for all pixels of the block.
            unsafe { run(&tile_rows) };
        }
    }
}

/// The width of groups of which a vector reads several, each lane its own: one channel
/// each, or 4 or 8 where vectors are wider and hold whole groups to the end.
fn narrow_width(conv: Conv2d, input: View, shape: TileShape) -> Option<usize> {
    let width = input.channels / conv.groups;
    let even = conv.groups > 1 && conv.channels == input.channels;
    let several =
        matches!(width, 4 | 8) && width < shape.lanes && input.channels.is_multiple_of(shape.lanes);
    (even && (width == 1 || several)).then_some(width)
}

/// The bias from `column` on, which has `columns` values or (at the end of a group of few
/// channels) is not read as vectors.
fn bias(call: &Call<'_>, column: usize, columns: usize) -> *const f32 {
    match call.weights.bias.get(column..column + columns) {
        Some(bias) => bias.as_ptr(),
        None => std::ptr::null(),
    }
}
