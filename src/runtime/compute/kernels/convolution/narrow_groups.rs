//! Convolutions of narrow groups: depthwise ones, and those whose vectors hold several groups.

use std::ops::Range;

use super::super::depthwise::line_fn;
use super::super::memory::ReducedPixels;
use super::super::narrow::{NARROW_ROWS, NarrowTile, narrow_fn};
use super::super::panels::{TileShape, even_tiles};
use super::super::reduced::ByteForm;
use super::super::task::Call;
use super::{Convolution, RowBlock, TileColumns};
use crate::compute::buffers::{TensorView, ValuePlace};
use crate::network::Conv2d;

impl Convolution {
    /// Whether neighbouring outputs of a line read the same inputs, a column of the kernel apart.
    fn shares_inputs(&self) -> bool {
        self.narrow == Some(1) && self.conv.stride == 1 && self.conv.dilation == 1
    }

    /// Returns where tiles write numbers of the form that they read, without floats, or `None` where
    /// these come first: sums of such numbers are no NaN that the form lacks.
    fn writes_straight<'a>(
        &self,
        call: &Call<'_>,
        block: &RowBlock<'a>,
    ) -> Option<ReducedPixels<'a>> {
        let (read, out) = (self.reduced?.numbers, block.outputs.reduced()?);
        let is_alike = read.bytes() == out.of.numbers.bytes();
        let is_bare = block.pass.is_none() && call.step.residual.is_none();
        (is_alike && is_bare && block.outputs.is_reduced_alone()).then_some(out)
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
        let (by_line, lanes) = (self.shares_inputs(), self.panels.shape.lanes);
        let numbers = self.reduced.map(|view| view.numbers);
        let bytes = numbers.map_or(4, |numbers| numbers.bytes());
        let own = call.memory.own(call.thread);
        let buffer = (call.memory.ptr(own.start), panels.len() * lanes);
        assert!(
            !block.outputs.is_reduced_alone() || NARROW_ROWS * buffer.1 <= own.len(),
            "scratch for fewer channels"
        );
        let width_of_line = if by_line {
            self.output.width
        } else {
            usize::MAX
        };
        let direct = self.writes_straight(call, block);
        for rows in line_tiles(&block.rows, width_of_line, self.panels.shape.rows(1)) {
            let line = line_fn(call.family, numbers, self.conv.kernel.width, rows.len());
            let run = line.filter(|_| by_line);
            let run = run.unwrap_or_else(|| narrow_fn(call.family, numbers, width, rows.len()));
            let tile = self.tile(call, block, rows.start, (columns, buffer));
            let to = |out: ReducedPixels<'_>| out.ptr(block.rows.start + rows.start, columns.first);
            let input = NarrowTile {
                values: block.values.wrapping_add(columns.input * bytes),
                bytes: ByteForm::of(numbers),
                out: direct.map_or(std::ptr::null_mut(), to),
                out_stride: direct.map_or(0, |out| out.of.view.pitch),
                written: ByteForm::of(direct.map(|out| out.of.numbers)),
                end: tile,
            };
            // SAFETY: as for wide panels, for each vector of channels; scratch is the thread's own.
            unsafe {
                run(&input);
                if direct.is_none() {
                    tile.pass(block.pass, rows.len(), lanes);
                    block.reduce(&tile, rows, (columns, lanes));
                }
            }
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

/// Whether a convolution reads floats and reduced numbers alike: one of narrow groups.
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
