//! Where the rows of a product lie.

use std::ops::Range;

use crate::compute::view::TensorView;
use crate::network::Conv2d;

/// How output pixels read their input: `taps` runs of `depth` floats each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    conv: Conv2d,
    from: TensorView,
    to: TensorView,
    pub taps: usize,
    pub depth: usize,
    /// A tap is a whole line of the kernel, not one pixel of it.
    by_line: bool,
    /// Padding is part of the image that is read.
    padded: bool,
}

impl Reads {
    pub fn new(conv: Conv2d, from: TensorView, to: TensorView, padded: bool) -> Self {
        let kernel = conv.kernel;
        let inside = padded || conv.padding.width == 0;
        let gapless = from.pitch == from.channels && conv.dilation == 1 && conv.groups == 1;
        let by_line = inside && gapless && kernel.width > 1;
        let depth = from.channels / conv.groups;
        let (taps, depth) = if by_line {
            (kernel.height, kernel.width * depth)
        } else {
            (kernel.area(), depth)
        };
        Reads {
            conv,
            from,
            to,
            taps,
            depth,
            by_line,
            padded,
        }
    }

    /// Floats of input that another output pixel brings into cache.
    pub fn touched(&self) -> usize {
        let step = if self.conv.kernel.area() == 1 {
            1
        } else {
            self.conv.stride
        };
        self.from.channels * step * step
    }

    /// Writes the offsets of output pixels `rows` (counted over all samples), tap after
    /// tap, counted from the slot's start; `zeros` for what is outside of the image.
    pub fn list(&self, rows: Range<usize>, zeros: usize, offsets: &mut Vec<usize>) {
        offsets.clear();
        let columns = if self.by_line {
            1
        } else {
            self.conv.kernel.width
        };
        for tap in 0..self.taps {
            self.list_tap(tap / columns, tap % columns, rows.clone(), zeros, offsets);
        }
    }

    /// One tap of all rows, a line of the output after the other.
    fn list_tap(
        &self,
        ky: usize,
        kx: usize,
        rows: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        let width = self.to.width;
        let mut at = rows.start;
        while at < rows.end {
            let (line, x) = (at / width, at % width);
            let end = rows.end.min((line + 1) * width);
            let columns = x..x + end - at;
            let (sample, y) = (line / self.to.height, line % self.to.height);
            match self.line(sample, y, ky) {
                None => offsets.extend(columns.map(|_| zeros)),
                Some(first) => self.list_line(first, kx, columns, zeros, offsets),
            }
            at = end;
        }
    }

    /// One tap of the output's `columns`, over the input line that begins with pixel `first`.
    fn list_line(
        &self,
        first: usize,
        kx: usize,
        columns: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        let (padding, stride) = (self.padding(self.conv.padding.width), self.conv.stride);
        let shift = kx * self.conv.dilation;
        // Columns whose tap falls left of the image, and right of it.
        let left = padding.saturating_sub(shift).div_ceil(stride);
        let right = (self.from.width + padding)
            .saturating_sub(shift)
            .div_ceil(stride);
        let inside =
            left.clamp(columns.start, columns.end)..right.clamp(columns.start, columns.end);
        let inside = inside.start..inside.end.max(inside.start);
        offsets.extend((columns.start..inside.start).map(|_| zeros));
        let step = stride * self.from.pitch;
        let at = (first + inside.start * stride + shift).wrapping_sub(padding);
        let start = at
            .wrapping_mul(self.from.pitch)
            .wrapping_add(self.from.first);
        offsets.extend((0..inside.len()).map(|i| start.wrapping_add(i * step)));
        offsets.extend((inside.end..columns.end).map(|_| zeros));
    }

    /// The first pixel of the input line under line `ky` of the kernel, where there is one.
    fn line(&self, sample: usize, y: usize, ky: usize) -> Option<usize> {
        let padding = self.padding(self.conv.padding.height);
        let y = (y * self.conv.stride + ky * self.conv.dilation).checked_sub(padding)?;
        (y < self.from.height).then(|| (sample * self.from.height + y) * self.from.width)
    }

    /// Padding that is not part of what is read.
    fn padding(&self, padding: usize) -> usize {
        if self.padded { 0 } else { padding }
    }
}
