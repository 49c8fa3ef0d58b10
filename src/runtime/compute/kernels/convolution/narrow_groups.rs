//! Convolutions of narrow groups: depthwise ones, and those with several groups in one vector.

use std::ops::Range;

use super::super::activations::is_short;
use super::super::depthwise::{self, LineRun, RUN_PIXELS, line_fn};
use super::super::narrow::{NARROW_ROWS, NarrowTile, narrow_fn};
use super::super::panels::{TileShape, even_tiles};
use super::super::reduced::ByteForm;
use super::super::reduced_pixels::ReducedPixels;
use super::super::task::Call;
use super::{Convolution, RowBlock, TileColumns};
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::compute::reduced::ReducedNumbers;
use crate::network::{Conv2d, Sides};

impl Convolution {
    /// Returns whether pixels are computed along lines and share common inputs.
    pub(super) fn runs_along_lines(&self) -> bool {
        self.narrow == Some(1) && depthwise::runs(self.conv)
    }

    /// Returns the most pixels of a tile.
    pub(super) fn narrow_rows(&self) -> usize {
        match self.runs_along_lines() {
            true => RUN_PIXELS,
            false => NARROW_ROWS,
        }
    }

    /// Returns where tiles write numbers in the form that they read, or `None` if floats must be
    /// written first, because sums may be NaN and the form lacks NaN.
    fn writes_straight<'a>(
        &self,
        call: &Call<'_>,
        block: &RowBlock<'a>,
    ) -> Option<ReducedPixels<'a>> {
        let (read, out) = (self.reduced?.numbers, block.outputs.reduced()?);
        let is_alike = read.bytes() == out.of.numbers.bytes();
        let is_bare = is_short(call.step.fused.activation) && call.step.residual.is_none();
        let weights = call.weights;
        let are_finite = weights
            .packed
            .values()
            .iter()
            .all(|weight| weight.is_finite());
        let are_numbers = read == ReducedNumbers::Bf16 || weights.has_finite_bias() && are_finite;
        (is_alike && is_bare && are_numbers && block.outputs.is_reduced_alone()).then_some(out)
    }

    /// Computes a few pixels at a time, all channels of each.
    ///
    /// # Safety
    /// As for [`Convolution::wide`].
    pub(super) unsafe fn narrow(
        &self,
        call: &Call<'_>,
        block: &RowBlock<'_>,
        width: usize,
        panels: Range<usize>,
    ) {
        let first = self.panels.panel(panels.start);
        let columns = TileColumns {
            first: first.column,
            input: first.column,
            weights: first.at,
            vectors: panels.len(),
            last: self.panels.panel(panels.end - 1).last,
        };
        let lanes = self.panels.shape.lanes;
        let numbers = self.reduced.map(|view| view.numbers);
        let own = call.memory.own_scratch(call.thread);
        let buffer = call.memory.ptr(own.start);
        assert!(
            !block.outputs.is_reduced_alone()
                || self.narrow_rows() * panels.len() * lanes <= own.len(),
            "scratch for fewer channels"
        );
        let line = match self.runs_along_lines() {
            true => self.output.width,
            false => usize::MAX,
        };
        let along = (line != usize::MAX).then(|| line_fn(call.family, numbers, self.conv));
        let direct = self.writes_straight(call, block);
        for rows in line_tiles(&block.rows, line, self.narrow_rows()) {
            let tile = self.tile(call, block, rows.start, columns, buffer);
            let to = |out: ReducedPixels<'_>| out.ptr(block.rows.start + rows.start, columns.first);
            let input = NarrowTile {
                values: self.values(block, columns),
                bytes: ByteForm::for_numbers(numbers),
                out: direct.map_or(std::ptr::null_mut(), to),
                out_stride: direct.map_or(0, |out| out.of.view.pitch),
                written: ByteForm::for_numbers(direct.map(|out| out.of.numbers)),
                end: tile,
            };
            // SAFETY: as for wide panels, for each vector of channels; scratch is the thread's own.
            unsafe {
                match along {
                    Some(run) => run(&self.line_run(block, rows.clone(), input)),
                    None => narrow_fn(call.family, numbers, width, rows.len())(&input),
                }
                if direct.is_none() {
                    block.end(&tile, rows, columns, lanes);
                }
            }
        }
    }

    /// Returns the bytes of a number that is read.
    fn number_bytes(&self) -> usize {
        self.reduced.map_or(4, |view| view.numbers.bytes())
    }

    /// Returns the address that the inputs of some columns count from.
    fn values(&self, block: &RowBlock<'_>, columns: TileColumns) -> *const u8 {
        let before = columns.input * self.number_bytes();
        block.values.wrapping_add(before)
    }

    /// Returns the run of rows of one line, whose inputs count from the values of a tile.
    fn line_run(&self, block: &RowBlock<'_>, rows: Range<usize>, tile: NarrowTile) -> LineRun {
        let (view, bytes) = (self.read, self.number_bytes());
        let padding = match self.is_prepared() {
            true => Sides::square(0),
            false => self.conv.padding,
        };
        let first = block.rows.start + rows.start;
        let (line, x) = (first / self.output.width, first % self.output.width);
        let (sample, y) = (line / self.output.height, line % self.output.height);
        let row = |at: usize| {
            let y = (y * self.conv.stride + at).checked_sub(padding.height);
            let y = y.filter(|&y| y < view.height && at < self.conv.kernel.height)?;
            let pixel = (sample * view.height + y) * view.width;
            let from = (pixel * view.pitch + view.first) * bytes;
            Some((tile.values.wrapping_add(from), view.pitch * bytes))
        };
        LineRun {
            rows: std::array::from_fn(|at| row(at).unwrap_or((block.zeros, 0))),
            zeros: block.zeros,
            width: view.width,
            padding: padding.width,
            lines: self.conv.kernel.height,
            columns: x..x + rows.len(),
            tile,
        }
    }
}

/// Splits `rows` into tiles of at most `most` rows of one line, counted from the first row.
fn line_tiles(rows: &Range<usize>, line: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let (start, end) = (rows.start, rows.end);
    let lines = start / line..end.div_ceil(line);
    lines.flat_map(move |at| {
        let first = start.max(at * line);
        let last = end.min((at + 1).saturating_mul(line));
        even_tiles(last - first, most).map(move |r| r.start + first - start..r.end + first - start)
    })
}

/// Returns whether a convolution reads either form, floats or reduced numbers: one of narrow
/// groups.
pub(in super::super) fn reads_any(conv: Conv2d, input: TensorView, shape: TileShape) -> bool {
    input.place != ValuePlace::Input && narrow_width(conv, input, shape).is_some()
}

/// Returns the width of groups if a vector reads several of them, each lane its own: one
/// channel, or 4 or 8 if vectors are wider and hold whole groups up to the end.
pub(super) fn narrow_width(conv: Conv2d, input: TensorView, shape: TileShape) -> Option<usize> {
    let width = input.channels / conv.groups;
    let even = conv.groups > 1 && conv.channels == input.channels;
    let several =
        matches!(width, 4 | 8) && width < shape.lanes && input.channels.is_multiple_of(shape.lanes);
    (even && (width == 1 || several)).then_some(width)
}
