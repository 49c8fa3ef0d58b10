//! The product of bytes: a block of rows and panels, tile by tile.

use std::ops::Range;

use super::super::activations::RowActivation;
use super::super::dots::DotKernel;
use super::super::memory::{InputPixels, OutputPixels};
use super::super::panels::even_tiles;
use super::super::task::Call;
use super::super::tile::{Prefetch, Tile};
use super::regions::ByteRegions;
use super::tile::{DotTile, dot_fn};
use super::{Quantized, is_pixelwise, weights};
use crate::compute::dynamic::RangedRow;

/// Rows of one task.
struct ByteBlock<'a> {
    /// The fastest kernel that is exact for the weights.
    kernel: DotKernel,
    /// The first byte of the copy, and the first scale.
    values: *const f32,
    affine: *const f32,
    rows: Range<usize>,
    out: OutputPixels<'a>,
    residual: Option<InputPixels<'a>>,
    /// The activation, if it is applied after each tile.
    pass: Option<RowActivation>,
}

impl Quantized {
    /// Computes one block of output pixels and panels.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run).
    pub(super) unsafe fn product(&self, call: &mut Call<'_>, task: usize) {
        let (rows, panels) = self.blocks(call.samples, call.threads).ranges(task);
        self.reads.list(rows.clone(), 0, call.offsets);
        let (values, affine) = self.operands(call, rows.clone());
        let block = ByteBlock {
            kernel: self.kernel.of_pairs(call.weights.pairs_fit),
            values,
            affine,
            // SAFETY: blocks of a phase share pixels only if their panels differ, and a tile writes
            // only its panel's columns.
            out: unsafe { call.memory.part(self.output, rows.clone()) },
            // SAFETY: a step never reads the slot that it writes.
            residual: call.step.residual.map(|v| unsafe { call.memory.source(v) }),
            // SAFETY: the call's family is available.
            pass: unsafe { RowActivation::new(call.family, call.step.fused.activation) },
            rows,
        };
        for panel in panels {
            // SAFETY: the offsets were just listed for these rows.
            unsafe { self.panel(call, &block, panel) };
        }
    }

    /// Returns the first byte of the rows, and the first scale, and lists the numbers of the scales of
    /// these rows.
    fn operands(&self, call: &mut Call<'_>, rows: Range<usize>) -> (*const f32, *const f32) {
        if self.ranged {
            let (values, _) = call.memory.base(self.input);
            let (pairs, each) = (
                RangedRow::for_values(self.copy.channels).bytes / 2,
                self.input.pitch / 2,
            );
            call.offsets.extend(rows.map(|row| row * each + pairs));
            return (values, values);
        }
        let each = match is_pixelwise(self.conv) {
            true => 1,
            false => self.output.pixels(),
        };
        call.offsets.extend(rows.map(|row| row / each));
        let regions = ByteRegions::for_step(self, call.samples);
        let [values, affine] = [regions.bytes(call, 0..0), regions.affine(call, 0..0)];
        (call.memory.ptr(values.start), call.memory.ptr(affine.start))
    }

    /// Computes one panel, tile by tile.
    ///
    /// # Safety
    /// As for [`PlannedStep::run`](super::super::step::PlannedStep::run); the call's offsets are those of
    /// the block's rows.
    unsafe fn panel(&self, call: &Call<'_>, block: &ByteBlock<'_>, index: usize) {
        let panel = self.panels.panel(index);
        let shape = block.kernel.shape();
        let tiles = even_tiles(block.rows.len(), shape.rows(panel.vectors));
        let width = panel.vectors * shape.lanes;
        let shares = Prefetch::shares(self.panels.depth, width, tiles.len());
        // The common values of tiles are computed once; compared to a small tile this takes long.
        let first = self.first_tile(call, block, index);
        for (rows, prefetch) in tiles.zip(shares) {
            let tile = first.further_on(rows.start, prefetch);
            let run = dot_fn(block.kernel, panel.vectors, rows.len());
            // SAFETY: the offsets are those of bytes of the copy, each row's scale was found, the
            // panel and the bias have their full width, and the rows of the residual and of the
            // output exist for all pixels of the block.
            unsafe {
                run(&tile);
                tile.end.pass(block.pass, rows.len(), shape.lanes);
            }
        }
    }

    /// Returns the tile of a panel from the first row of the block on.
    fn first_tile(&self, call: &Call<'_>, block: &ByteBlock<'_>, panel: usize) -> DotTile {
        let panel = self.panels.panel(panel);
        let (pixel, first) = (block.rows.start, panel.column);
        let packed = call.weights.packed.values();
        let (scales, sums) = weights::columns(self.panels, packed);
        let residual = block.residual.map(|r| r.ptr(pixel).wrapping_add(first));
        let bias = call.weights.bias.get(first..).filter(|b| !b.is_empty());
        DotTile {
            values: block.values.cast(),
            affine: block.affine.cast(),
            scales: scales[first..].as_ptr(),
            sums: sums[first..].as_ptr(),
            shifts: match self.ranged {
                true => weights::shifts(self.panels, packed, first),
                false => std::ptr::null(),
            },
            end: Tile {
                base: std::ptr::null(),
                rows: call.offsets.as_ptr(),
                rows_stride: block.rows.len(),
                taps: self.reads.taps,
                depth: self.reads.depth / 4,
                panel: packed[panel.at..].as_ptr(),
                prefetch: Prefetch::NOTHING,
                bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
                residual: residual.unwrap_or(std::ptr::null()),
                residual_stride: block.residual.map_or(0, |r| r.view.pitch),
                out: block.out.ptr(pixel).wrapping_add(first),
                out_stride: block.out.pitch(),
                vectors: panel.vectors,
                last: panel.last,
                activation: call.step.fused.activation,
            },
        }
    }
}
