//! Where the rows of a product lie.

use std::ops::Range;

use crate::compute::view::View;
use crate::network::Conv2d;

/// How output pixels read their input: `taps` runs of `depth` floats each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    conv: Conv2d,
    from: View,
    to: View,
    pub taps: usize,
    pub depth: usize,
    /// A tap is a whole line of the kernel, not one pixel of it.
    by_line: bool,
    /// Padding is part of the image that is read.
    padded: bool,
}

impl Reads {
    pub fn new(conv: Conv2d, from: View, to: View, padded: bool) -> Self {
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

    fn list_tap(
        &self,
        ky: usize,
        kx: usize,
        rows: Range<usize>,
        zeros: usize,
        offsets: &mut Vec<usize>,
    ) {
        let (to, from) = (self.to, self.from);
        let line = rows.start / to.width;
        let (mut sample, mut y, mut x) =
            (line / to.height, line % to.height, rows.start % to.width);
        let mut first = self.line(sample, y, ky);
        for _ in rows {
            let at = first
                .and_then(|first| Some((first + self.column(x, kx)?) * from.pitch + from.first));
            offsets.push(at.unwrap_or(zeros));
            x += 1;
            if x == to.width {
                (x, y) = (0, y + 1);
                if y == to.height {
                    (y, sample) = (0, sample + 1);
                }
                first = self.line(sample, y, ky);
            }
        }
    }

    /// The first pixel of the input line under line `ky` of the kernel, where there is one.
    fn line(&self, sample: usize, y: usize, ky: usize) -> Option<usize> {
        let padding = if self.padded {
            0
        } else {
            self.conv.padding.height
        };
        let y = (y * self.conv.stride + ky * self.conv.dilation).checked_sub(padding)?;
        (y < self.from.height).then(|| (sample * self.from.height + y) * self.from.width)
    }

    /// The input's column under column `kx` of the kernel, where there is one.
    #[inline]
    fn column(&self, x: usize, kx: usize) -> Option<usize> {
        let padding = if self.padded {
            0
        } else {
            self.conv.padding.width
        };
        let x = (x * self.conv.stride + kx * self.conv.dilation).checked_sub(padding)?;
        (x < self.from.width).then_some(x)
    }
}
