//! The rows of one task of a convolution, and the columns of one tile.

use std::ops::Range;

use super::super::activations::{RowActivation, TileRows};
use super::super::memory::InputPixels;
use super::super::reduced::StepOutputs;
use super::super::tile::Tile;

/// Rows of one task.
pub(super) struct RowBlock<'a> {
    pub base: *const f32,
    /// The same address, or the first of the reduced numbers to read.
    pub values: *const u8,
    /// The zeros that replace a pixel outside of the image.
    pub zeros: *const u8,
    pub rows: Range<usize>,
    pub outputs: StepOutputs<'a>,
    pub residual: Option<InputPixels<'a>>,
    /// The activation, if it is applied after each tile.
    pub pass: Option<RowActivation>,
}

impl RowBlock<'_> {
    /// Applies the activation to the answers of a tile, and writes them as reduced numbers if
    /// requested. `rows` are rows of the block.
    ///
    /// # Safety
    /// The tile wrote these rows, and nothing else uses what is written.
    pub(super) unsafe fn end(
        &self,
        tile: &Tile,
        rows: Range<usize>,
        columns: TileColumns,
        lanes: usize,
    ) {
        let written = TileRows {
            start: tile.out,
            stride: tile.out_stride,
            rows: rows.len(),
            columns: (columns.vectors - 1) * lanes + columns.last,
        };
        let (pixel, first) = (self.rows.start + rows.start, columns.first);
        // SAFETY: guaranteed by the caller.
        unsafe { self.outputs.activate(pixel, first, written, self.pass) }
    }
}

/// Columns of one tile.
#[derive(Clone, Copy)]
pub(super) struct TileColumns {
    /// First output channel, and first input channel that is read.
    pub first: usize,
    pub input: usize,
    /// Floats before their weights.
    pub weights: usize,
    pub vectors: usize,
    /// Columns of the last vector.
    pub last: usize,
}
